package api_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestACLs checks that each request about access control lists is answered as Kafka 4.4 without an
// authorizer answers it: SECURITY_DISABLED, with a message, once for each creation and filter.
func TestACLs(t *testing.T) {
	t.Parallel()
	n := newAdminNode(t, nil, nil)
	disabled := func(what string, code int16, message *string) {
		t.Helper()
		wantCode(t, what, code, kerr.SecurityDisabled.Message)
		if message == nil || *message == "" {
			t.Errorf("%s: no message", what)
		}
	}
	for _, v := range versionsOf(t, kmsg.DescribeACLs) {
		resp := ask[*kmsg.DescribeACLsResponse](n, v, kmsg.NewPtrDescribeACLsRequest())
		if disabled("describe", resp.ErrorCode, resp.ErrorMessage); len(resp.Resources) > 0 {
			t.Errorf("describe v%d: %d resources", v, len(resp.Resources))
		}
	}
	name := "orders"
	for _, v := range versionsOf(t, kmsg.CreateACLs) {
		m := kmsg.NewPtrCreateACLsRequest()
		for range 2 {
			c := kmsg.NewCreateACLsRequestCreation()
			c.ResourceType, c.ResourceName, c.Principal, c.Host, c.Operation, c.PermissionType = 2, name, "User:a", "*", 3, 3
			m.Creations = append(m.Creations, c)
		}
		resp := ask[*kmsg.CreateACLsResponse](n, v, m)
		if len(resp.Results) != 2 {
			t.Fatalf("create v%d: %d results of 2 creations", v, len(resp.Results))
		}
		for _, r := range resp.Results {
			disabled("create", r.ErrorCode, r.ErrorMessage)
		}
	}
	for _, v := range versionsOf(t, kmsg.DeleteACLs) {
		m := kmsg.NewPtrDeleteACLsRequest()
		for range 3 {
			f := kmsg.NewDeleteACLsRequestFilter()
			f.ResourceType, f.ResourceName, f.Operation, f.PermissionType = 2, &name, 1, 1
			m.Filters = append(m.Filters, f)
		}
		resp := ask[*kmsg.DeleteACLsResponse](n, v, m)
		if len(resp.Results) != 3 {
			t.Fatalf("delete v%d: %d results of 3 filters", v, len(resp.Results))
		}
		for _, r := range resp.Results {
			disabled("delete", r.ErrorCode, r.ErrorMessage)
		}
	}
}
