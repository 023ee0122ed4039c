package configapi

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/api"
	"github.com/ottla-io/ottla/internal/cluster/meta"
)

// ListConfigResources: v0 to v1.
//
// **Behaviour**
//
// Lists what configs belong to, of the types asked for (none: of all): every topic, every broker, every broker's loggers, and the groups
// and client metrics subscriptions that have configs. v0 lists client metrics subscriptions. A type that nobody knows gets
// UNSUPPORTED_VERSION.
//
// **Differences from Apache Kafka**
//
// Resources are ordered by type and name.
//
// **Versions**
//
//	v0 as ListClientMetricsResources (KIP-714), v1 all types (KIP-1142)

func (f *family) listConfigResources(_ context.Context, a *api.API, req *api.Request, m *kmsg.ListConfigResourcesRequest) kmsg.Response {
	resp := kmsg.NewPtrListConfigResourcesResponse()
	q := a.Asked(req)
	types := m.ResourceTypes
	if m.Version == 0 {
		types = []int8{meta.ResourceClientMetrics}
	}
	for _, t := range types {
		if !slices.Contains(resourceTypes[:], t) {
			resp.ErrorCode = q.Code(api.Refuse(kerr.UnsupportedVersion, "resource type %d is unknown", t))
			return resp
		}
	}
	for _, r := range listResources(f.node.Image()) {
		if len(types) > 0 && !slices.Contains(types, r.Type) {
			continue
		}
		rr := kmsg.NewListConfigResourcesResponseConfigResource()
		rr.Name, rr.Type = r.Name, r.Type
		resp.ConfigResources = append(resp.ConfigResources, rr)
	}
	return resp
}

// resourceTypes are all types of resources.
var resourceTypes = [...]int8{
	meta.ResourceTopic, meta.ResourceBroker, meta.ResourceBrokerLogger, meta.ResourceClientMetrics, meta.ResourceGroup,
}

// listResources lists everything that configs may belong to, by type and name.
func listResources(image *meta.Image) []meta.Resource {
	var all []meta.Resource
	for _, t := range image.Topics {
		all = append(all, meta.TopicResource(t.Name))
	}
	for _, b := range image.Brokers {
		if b.Fenced {
			continue
		}
		name := strconv.Itoa(int(b.ID))
		all = append(all, meta.Resource{Type: meta.ResourceBroker, Name: name}, meta.Resource{Type: meta.ResourceBrokerLogger, Name: name})
	}
	for r := range image.Configs() {
		if r.Type == meta.ResourceClientMetrics || r.Type == meta.ResourceGroup {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b meta.Resource) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), strings.Compare(a.Name, b.Name))
	})
	return all
}
