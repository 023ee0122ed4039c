package wire

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestClientsFindTheirVersions: traps.md trap 2 and rule 1. Clients turn features off, or send a fixed
// version, by what is advertised. Keys that are not in the table yet stand here too, and count from the day they are.
func TestClientsFindTheirVersions(t *testing.T) {
	t.Parallel()
	for client, needs := range map[string]map[kmsg.Key][]int16{
		"librdkafka to 2.8: its feature gates": {
			kmsg.Produce: {0, 2, 3, 7}, kmsg.Fetch: {4, 10}, kmsg.ListOffsets: {1}, kmsg.InitProducerID: {0}, kmsg.FindCoordinator: {0},
			kmsg.OffsetCommit: {1, 2}, kmsg.OffsetFetch: {1}, kmsg.JoinGroup: {0}, kmsg.SyncGroup: {0}, kmsg.Heartbeat: {0},
			kmsg.LeaveGroup: {0}, kmsg.SASLHandshake: {0, 1}, kmsg.SASLAuthenticate: {0, 1}, kmsg.ApiVersions: {0},
		},
		"kafka-go 0.4: fixed": {
			kmsg.Metadata: {1, 6, 8}, kmsg.Produce: {3, 7, 8}, kmsg.Fetch: {5, 10}, kmsg.ListOffsets: {1}, kmsg.CreateTopics: {0, 1, 2},
			kmsg.DeleteTopics: {0, 1}, kmsg.ApiVersions: {0}, kmsg.FindCoordinator: {0}, kmsg.Heartbeat: {0}, kmsg.LeaveGroup: {0},
			kmsg.SyncGroup: {0}, kmsg.JoinGroup: {1, 2}, kmsg.OffsetCommit: {2}, kmsg.OffsetFetch: {1}, kmsg.ListGroups: {1},
		},
		"KafkaJS 2.2: its newest": {
			kmsg.Metadata: {6}, kmsg.Produce: {7}, kmsg.Fetch: {11}, kmsg.ListOffsets: {3}, kmsg.InitProducerID: {1}, kmsg.ApiVersions: {2},
			kmsg.CreateTopics: {3}, kmsg.DescribeConfigs: {2}, kmsg.DeleteTopics: {1}, kmsg.DeleteRecords: {1}, kmsg.CreatePartitions: {1},
		},
		"kafka-python 2.0: probes and uses": {kmsg.Metadata: {0, 1, 5}, kmsg.Produce: {7}, kmsg.Fetch: {4}, kmsg.ListOffsets: {1}, kmsg.ApiVersions: {0}},
		"aiokafka 0.14: its newest":         {kmsg.Metadata: {5}, kmsg.Produce: {8}, kmsg.Fetch: {11}},
		"kafka_exporter: never negotiates":  {kmsg.Metadata: {6}, kmsg.ListOffsets: {3}, kmsg.ListGroups: {0}, kmsg.DescribeGroups: {0}},
		"platformatic 1.35: its newest":     {kmsg.Metadata: {12}, kmsg.Produce: {11}, kmsg.Fetch: {17}, kmsg.ListOffsets: {9}, kmsg.ApiVersions: {3}},
		"Java 4: its oldest and newest": {
			kmsg.Produce: {3, 13}, kmsg.Fetch: {4, 18}, kmsg.ListOffsets: {1, 11}, kmsg.Metadata: {0, 13}, kmsg.ApiVersions: {0, 4},
			kmsg.CreateTopics: {2, 7}, kmsg.DeleteTopics: {1, 6}, kmsg.DescribeConfigs: {1, 4}, kmsg.DescribeTopicPartitions: {0},
		},
	} {
		for key, versions := range needs {
			row, ok := Lookup(key)
			if !ok {
				continue // TestEveryKeyIsAccountedFor has it in the ledger
			}
			for _, v := range versions {
				if v < row.Min || v > row.Max {
					t.Errorf("%s needs %s v%d, and v%d to v%d are advertised", client, key.Name(), v, row.Min, row.Max)
				}
			}
		}
	}
}
