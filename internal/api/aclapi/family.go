package aclapi

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/api"
)

// Handlers returns the handlers by key.
func Handlers() map[kmsg.Key]api.Handler {
	return map[kmsg.Key]api.Handler{
		kmsg.DescribeACLs: api.Late(describeACLs),
		kmsg.CreateACLs:   api.Late(createACLs),
		kmsg.DeleteACLs:   api.Late(deleteACLs),
	}
}

// errDisabled answers every request until there is an authorizer.
var errDisabled = api.Refuse(kerr.SecurityDisabled, "no authorizer is configured: everybody may do everything")
