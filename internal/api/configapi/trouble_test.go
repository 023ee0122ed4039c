package configapi

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestTroubles: what is wrong with a topic is told to those who ask for it by name, and to nobody else.
func TestTroubles(t *testing.T) {
	t.Parallel()
	f := &family{trouble: func(topic string) []Trouble {
		if topic == "sound" {
			return nil
		}
		return []Trouble{{Partition: 3, Offline: true, Text: "a reason"}}
	}}
	for _, c := range []struct {
		typ   kmsg.ConfigResourceType
		name  string
		names []string
		want  string
	}{
		{kmsg.ConfigResourceTypeTopic, "t", []string{TroubleKey}, `[{"partition":3,"offline":true,"text":"a reason"}]`},
		{kmsg.ConfigResourceTypeTopic, "t", []string{"retention.ms"}, ""},
		{kmsg.ConfigResourceTypeTopic, "t", nil, ""},
		{kmsg.ConfigResourceTypeTopic, "sound", []string{TroubleKey}, ""},
		{kmsg.ConfigResourceTypeBroker, "1", []string{TroubleKey}, ""},
	} {
		r := kmsg.NewDescribeConfigsRequestResource()
		r.ResourceType, r.ResourceName, r.ConfigNames = c.typ, c.name, c.names
		e, ok := f.troubles(&r)
		if ok != (c.want != "") || ok && (*e.Value != c.want || !e.ReadOnly) {
			t.Errorf("%+v: %+v, %v", c, e, ok)
		}
	}
}
