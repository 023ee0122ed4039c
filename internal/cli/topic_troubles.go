package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// troublesKey is the name under which a broker of this program tells what is wrong with a topic's partitions (DescribeConfigs). Other
// brokers know no such setting, and tell nothing.
const troublesKey = "ottla.troubles"

// trouble is what is wrong with a partition on one broker.
type trouble struct {
	Broker    int32  `json:"broker"`
	Partition int32  `json:"partition"`
	Offline   bool   `json:"offline"`
	Text      string `json:"text"`
}

// addTroubles asks each broker what is wrong with the topics' partitions.
func addTroubles(ctx context.Context, client *kgo.Client, infos []topicInfo) error {
	brokers, err := kadm.NewClient(client).ListBrokers(ctx)
	if err != nil {
		return err
	}
	req := kmsg.NewPtrDescribeConfigsRequest()
	for _, info := range infos {
		r := kmsg.NewDescribeConfigsRequestResource()
		r.ResourceType, r.ResourceName, r.ConfigNames = kmsg.ConfigResourceTypeTopic, info.Name, []string{troublesKey}
		req.Resources = append(req.Resources, r)
	}
	for _, id := range brokers.NodeIDs() {
		resp, err := req.RequestWith(ctx, client.Broker(int(id)))
		if err != nil {
			return fmt.Errorf("ask broker %d what is wrong with the topics: %w", id, err)
		}
		for _, r := range resp.Resources {
			i := slices.IndexFunc(infos, func(t topicInfo) bool { return t.Name == r.ResourceName })
			if i < 0 {
				continue
			}
			for _, c := range r.Configs {
				if c.Name != troublesKey || c.Value == nil {
					continue
				}
				list, err := parseTroubles(*c.Value, id)
				if err != nil {
					return err
				}
				infos[i].Troubles = append(infos[i].Troubles, list...)
			}
		}
	}
	return nil
}

func parseTroubles(text string, broker int32) ([]trouble, error) {
	var list []trouble
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, errors.Join(fmt.Errorf("broker %d tells in no known form what is wrong: %.100q", broker, text), err)
	}
	for i := range list {
		list[i].Broker = broker
	}
	return list, nil
}
