package api_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestListConfigResources(t *testing.T) {
	t.Parallel()
	n := newAdminNode(t, nil, nil)
	n.create("b", 1)
	n.create("a", 1)
	wantCode(t, "group", alterOne(n, changeOf(kmsg.ConfigResourceTypeGroupConfig, "g", "consumer.session.timeout.ms", "=50000")), "")
	wantCode(t, "metrics", alterOne(n, changeOf(kmsg.ConfigResourceTypeClientMetrics, "m", "interval.ms", "=5000")), "")
	for _, c := range []struct {
		version int16
		types   []int8
		code    string
		want    []string
	}{
		{0, nil, "", []string{"16 m"}},
		{1, nil, "", []string{"2 a", "2 b", "4 1", "8 1", "16 m", "32 g"}},
		{1, []int8{2}, "", []string{"2 a", "2 b"}},
		{1, []int8{8, 4}, "", []string{"4 1", "8 1"}},
		{1, []int8{32, 16, 32}, "", []string{"16 m", "32 g"}},
		{1, []int8{0}, "UNSUPPORTED_VERSION", nil},
		{1, []int8{2, 3}, "UNSUPPORTED_VERSION", nil},
	} {
		req := kmsg.NewPtrListConfigResourcesRequest()
		req.ResourceTypes = c.types
		resp := ask[*kmsg.ListConfigResourcesResponse](n, c.version, req)
		wantCode(t, fmt.Sprint(c.types), resp.ErrorCode, c.code)
		var got []string
		for _, r := range resp.ConfigResources {
			got = append(got, fmt.Sprint(r.Type, " ", r.Name))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("v%d %v: %v, expected %v", c.version, c.types, got, c.want)
		}
	}
}
