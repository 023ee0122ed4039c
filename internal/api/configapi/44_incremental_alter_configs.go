package configapi

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/api"
	"github.com/ottla-io/ottla/internal/cluster/meta"
)

// IncrementalAlterConfigs: v0 to v1.
//
// **Behaviour**
//
// Changes single configs of topics, brokers (this one by its id, or all by an empty name), groups and client metrics subscriptions, and
// the levels of this broker's loggers: SET, DELETE (back to the default), and for lists APPEND and SUBTRACT. What a list has already
// is not appended again. Each resource succeeds or fails by itself, its changes together. With validate_only everything
// is checked and nothing done. Levels of loggers last until the broker stops.
//
// Per resource: UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION, INVALID_CONFIG (an unknown key, a value it cannot have,
// APPEND or SUBTRACT on what is no list), INVALID_REQUEST (a resource or key named twice, no value, an unknown operation, another broker's
// id, a broker key that cannot change while the broker runs, a broker value that it cannot have, an unknown type).
//
// Settings of Kafka that have no effect here are taken, kept and described, unless they would protect the broker.
//
// **Differences from Apache Kafka**
//
// Only what a request changes is judged: a key that a directory of Kafka brought, and that is not allowed here, may stay and may be sent again as it
// is. Kafka judges all configs of the resource. The settings that Kafka 4 dropped (message.format.version) are still taken.
// Kafka takes broker keys that nobody knows, and answers an unknown operation on a topic with UNKNOWN_SERVER_ERROR. There is one logger,
// root. Of configs of share and streams groups, which do not exist yet, no more than the type and the bounds are checked.
//
// **Versions**
//
//	v0 KIP-339, loggers by KIP-412; v1 flexible

func (f *family) incrementalAlterConfigs(ctx context.Context, a *api.API, req *api.Request, m *kmsg.IncrementalAlterConfigsRequest) kmsg.Response {
	resp := kmsg.NewPtrIncrementalAlterConfigsResponse()
	q := a.Asked(req)
	audit := a.Audit(req)
	defer audit.Done()
	times := api.Counted(m.Resources, func(r *kmsg.IncrementalAlterConfigsRequestResource) meta.Resource {
		return meta.Resource{Type: int8(r.ResourceType), Name: r.ResourceName}
	})
	errs := make([]error, len(m.Resources))
	var changes []meta.ResourceChanges
	var places []int
	for i := range m.Resources {
		r := resourceChanges(&m.Resources[i])
		if r.Resource.Type == meta.ResourceBrokerLogger {
			errs[i] = f.alterLoggers(audit, r, times[r.Resource], m.ValidateOnly)
		} else if errs[i] = f.checkChanges(r, times[r.Resource]); errs[i] == nil {
			changes, places = append(changes, r), append(places, i)
		}
	}
	before := f.node.Image()
	if len(changes) > 0 {
		results, err := f.node.AlterConfigs(ctx, changes, m.ValidateOnly)
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
		rr := kmsg.NewIncrementalAlterConfigsResponseResource()
		rr.ResourceType, rr.ResourceName = r.ResourceType, r.ResourceName
		rr.ErrorCode, rr.ErrorMessage = q.Code(errs[i]), api.Explain(errs[i])
		resp.Resources = append(resp.Resources, rr)
	}
	return resp
}

// resourceChanges is a resource of the request as the metadata machine takes it.
func resourceChanges(r *kmsg.IncrementalAlterConfigsRequestResource) meta.ResourceChanges {
	changes := meta.ResourceChanges{Resource: meta.Resource{Type: int8(r.ResourceType), Name: r.ResourceName}}
	for _, c := range r.Configs {
		changes.Changes = append(changes.Changes, meta.ConfigChange{Name: c.Name, Op: meta.ConfigOp(c.Op), Value: c.Value})
	}
	return changes
}
