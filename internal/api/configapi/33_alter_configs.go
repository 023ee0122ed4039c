package configapi

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/api"
	"github.com/ottla-io/ottla/internal/cluster/meta"
)

// AlterConfigs: v0 to v2.
//
// **Behaviour**
//
// Gives topics, brokers (this one by its id, or all by an empty name), groups and client metrics subscriptions new configs in place of
// all they had: a key that is not named goes back to its default. Each resource succeeds or fails by itself. With validate_only everything is
// checked and nothing done. Clients use IncrementalAlterConfigs where they can.
//
// Per resource: UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION, INVALID_CONFIG (an unknown key, or a value it cannot have),
// INVALID_REQUEST (a resource or key named twice, no value, another broker's id, a broker key that cannot change while the
// broker runs, a broker value that it cannot have, an unknown type; loggers too).
//
// Settings of Kafka that have no effect here are taken, kept and described, unless they would protect the broker.
//
// **Differences from Apache Kafka**
//
// Only what a request changes is judged: a key that a directory of Kafka brought, and that is not allowed here, may stay and may be sent again as it
// is. Kafka judges all configs of the resource. The settings that Kafka 4 dropped (message.format.version) are still taken.
// Kafka takes broker keys that nobody knows. It does not answer at all if a resource is named twice.
//
// **Versions**
//
//	v0 KIP-133, v2 flexible

func (f *family) alterConfigs(ctx context.Context, a *api.API, req *api.Request, m *kmsg.AlterConfigsRequest) kmsg.Response {
	resp := kmsg.NewPtrAlterConfigsResponse()
	q := a.Asked(req)
	audit := a.Audit(req)
	defer audit.Done()
	times := api.Counted(m.Resources, func(r *kmsg.AlterConfigsRequestResource) meta.Resource {
		return meta.Resource{Type: int8(r.ResourceType), Name: r.ResourceName}
	})
	errs := make([]error, len(m.Resources))
	var changes []meta.ResourceConfigs
	var places []int
	for i := range m.Resources {
		all, sets := replaced(&m.Resources[i])
		if errs[i] = f.checkChanges(sets, times[all.Resource]); errs[i] == nil {
			changes, places = append(changes, all), append(places, i)
		}
	}
	before := f.node.Image()
	if len(changes) > 0 {
		results, err := f.node.ReplaceConfigs(ctx, changes, m.ValidateOnly)
		for i, place := range places {
			if errs[place] = err; err == nil {
				errs[place] = alterFailed(changes[i].Resource, results[i].Err)
			}
		}
	}
	for i, change := range changes {
		if errs[places[i]] == nil && !m.ValidateOnly {
			f.auditChanges(audit, change.Resource, before, f.node.Image())
		}
	}
	for i, r := range m.Resources {
		rr := kmsg.NewAlterConfigsResponseResource()
		rr.ResourceType, rr.ResourceName = r.ResourceType, r.ResourceName
		rr.ErrorCode, rr.ErrorMessage = q.Code(errs[i]), api.Explain(errs[i])
		resp.Resources = append(resp.Resources, rr)
	}
	return resp
}

// replaced is a resource's new configs, also as the changes that they are checked as.
func replaced(r *kmsg.AlterConfigsRequestResource) (meta.ResourceConfigs, meta.ResourceChanges) {
	resource := meta.Resource{Type: int8(r.ResourceType), Name: r.ResourceName}
	all, sets := meta.ResourceConfigs{Resource: resource}, meta.ResourceChanges{Resource: resource}
	for _, c := range r.Configs {
		all.Configs = append(all.Configs, meta.NewConfig{Name: c.Name, Value: c.Value})
		sets.Changes = append(sets.Changes, meta.ConfigChange{Name: c.Name, Op: meta.OpSet, Value: c.Value})
	}
	return all, sets
}
