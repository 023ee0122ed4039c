package configapi

import (
	"encoding/json"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/setting"
)

// TroubleKey is the name under which a topic's troubles on this node are told, to clients that ask for this name alone: no response of
// Kafka's has a place for them. The value is JSON, an array of Trouble; without any, there is no such entry.
const TroubleKey = "ottla.troubles"

// Trouble is what is wrong with one partition, in words, with what to do.
type Trouble struct {
	Partition int32  `json:"partition"`
	Offline   bool   `json:"offline"` // it is not served; else some of its batches cannot be read
	Text      string `json:"text"`
}

// troubles is the entry of a resource's troubles; false if it was not asked for, or has none.
func (f *family) troubles(r *kmsg.DescribeConfigsRequestResource) (setting.Entry, bool) {
	if int8(r.ResourceType) != meta.ResourceTopic || f.trouble == nil || !slices.Contains(r.ConfigNames, TroubleKey) {
		return setting.Entry{}, false
	}
	list := f.trouble(r.ResourceName)
	if len(list) == 0 {
		return setting.Entry{}, false
	}
	text, err := json.Marshal(list)
	if err != nil {
		return setting.Entry{}, false
	}
	value := string(text)
	return setting.Entry{
		Name: TroubleKey, Value: &value, ReadOnly: true, Type: kmsg.ConfigTypeString, Source: kmsg.ConfigSourceDefaultConfig,
		Doc: "what is wrong with the topic's partitions on this broker",
	}, true
}
