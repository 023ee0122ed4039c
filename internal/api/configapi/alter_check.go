package configapi

import (
	"errors"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/api"
	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/protocol/topic"
	"github.com/ottla-io/ottla/internal/setting"
)

// checkChanges judges what a request does to one resource as far as this node has to: the metadata machine judges the rest (Kafka's
// ConfigAdminManager.preprocess and the controller). times is how often the request names the resource.
func (f *family) checkChanges(r meta.ResourceChanges, times int) error {
	if times > 1 {
		return api.Refuse(kerr.InvalidRequest, "resource %q is named %d times: name each once", r.Resource.Name, times)
	}
	if err := checkKeys(r); err != nil {
		return err
	}
	name := r.Resource.Name
	switch r.Resource.Type {
	case meta.ResourceTopic:
		if name == "" {
			return api.Refuse(kerr.InvalidRequest, "the topic name is empty: topics have no common configs, set the broker's")
		}
		return topic.Check(name)
	case meta.ResourceBroker:
		if name != "" {
			if err := f.refuseOtherNode(name); err != nil {
				return err
			}
		}
		return f.checkBrokerKeys(f.changing(r))
	case meta.ResourceClientMetrics:
		if name == "" {
			return api.Refuse(kerr.InvalidRequest, "the name of the client metrics subscription is empty")
		}
		return checkValues(f.changing(r), setting.CheckClientMetrics)
	case meta.ResourceGroup:
		if name == "" {
			return api.Refuse(kerr.InvalidRequest, "the group name is empty")
		}
		return checkValues(f.changing(r), setting.CheckGroup(f.brokerEntries(f.node.Image())))
	}
	return refuseType(r.Resource)
}

// checkKeys refuses keys that are named twice and values that are not there.
func checkKeys(r meta.ResourceChanges) error {
	seen := make(map[string]bool, len(r.Changes))
	var null []string
	for _, c := range r.Changes {
		if seen[c.Name] {
			return api.Refuse(kerr.InvalidRequest, "config key %q is named twice for resource %q", c.Name, r.Resource.Name)
		}
		seen[c.Name] = true
		if c.Value == nil && c.Op != meta.OpDelete {
			null = append(null, c.Name)
		}
	}
	if len(null) > 0 {
		return api.Refuse(kerr.InvalidRequest, "no value for %s of resource %q: delete a config to have its default", strings.Join(null, ", "), r.Resource.Name)
	}
	return nil
}

// changing returns the changes without those that set what is set already: keys and values that a directory of Kafka brought, and that are not
// allowed here, stay, also where a client sends all that it was told (the old AlterConfigs).
func (f *family) changing(r meta.ResourceChanges) []meta.ConfigChange {
	now := f.node.Image().Config(r.Resource)
	return slices.DeleteFunc(slices.Clone(r.Changes), func(c meta.ConfigChange) bool {
		text, set := now[c.Name]
		return set && c.Op == meta.OpSet && *c.Value == text
	})
}

// checkValues judges changes of resources that have no lists to append to. Deleting what is not there is no error.
func checkValues(changes []meta.ConfigChange, check func(name, value string) error) error {
	for _, c := range changes {
		switch c.Op {
		case meta.OpSet:
			if err := check(c.Name, *c.Value); err != nil {
				return err
			}
		case meta.OpAppend, meta.OpSubtract:
			return api.Refuse(kerr.InvalidConfig, "cannot append to or subtract from %s: set it", c.Name)
		case meta.OpDelete:
		}
	}
	return nil
}

// checkBrokerKeys refuses to set what cannot change while the broker runs, and keys that nobody knows. Deleting what is not
// there is no error.
func (f *family) checkBrokerKeys(changes []meta.ConfigChange) error {
	for _, c := range changes {
		if c.Op == meta.OpDelete || f.configs == nil {
			continue
		}
		e, known := f.configs.BrokerSetting(c.Name)
		appends := c.Op == meta.OpAppend || c.Op == meta.OpSubtract
		switch {
		case !known:
			return api.Refuse(kerr.InvalidConfig, "broker config %q is unknown: the reference of settings lists all", c.Name)
		case e.ReadOnly:
			return api.Refuse(kerr.InvalidRequest, "cannot change %s while the broker runs: set it in the configuration and restart", c.Name)
		case appends && e.Type != kmsg.ConfigTypeList:
			return api.Refuse(kerr.InvalidConfig, "cannot append to or subtract from %s: it is no list", c.Name)
		}
	}
	return nil
}

// alterFailed is the error that a client reads for a resource. Kafka calls a broker value that it cannot use INVALID_REQUEST, not
// INVALID_CONFIG (KAFKA-13609).
func alterFailed(r meta.Resource, err error) error {
	if r.Type == meta.ResourceBroker && errors.Is(err, kerr.InvalidConfig) {
		return api.Refuse(kerr.InvalidRequest, "%s", *api.Explain(err))
	}
	return err
}
