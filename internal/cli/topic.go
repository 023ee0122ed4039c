package cli

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/cli/session"
)

func (a *app) topicCommand() *cobra.Command {
	return group("topic", "list, create, change and delete topics",
		a.topicList(), a.topicDescribe(), a.topicCreate(), a.topicAlter(), a.topicDelete(), a.topicGrow(), a.topicTrim())
}

// topicRow is a line of topic list.
type topicRow struct {
	Name       string `json:"name"`
	ID         string `json:"id"`
	Partitions int    `json:"partitions"`
	Replicas   int    `json:"replicas"`
	Internal   bool   `json:"internal"`
}

func (a *app) topicList() *cobra.Command {
	var internal bool
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "list the topics", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.Admin(cmd.Context(), func(ctx context.Context, admin *kadm.Client) error {
				details, err := session.Topics(ctx, admin)
				if err != nil {
					return err
				}
				rows := []topicRow{}
				t := session.NewTable("NAME", "PARTITIONS", "REPLICAS")
				for _, d := range details.Sorted() {
					if d.IsInternal && !internal {
						continue
					}
					rows = append(rows, topicRow{d.Topic, topicID(d.ID), len(d.Partitions), d.Partitions.NumReplicas(), d.IsInternal})
					t.Row(d.Topic, len(d.Partitions), d.Partitions.NumReplicas())
				}
				return a.Print(rows, t)
			})
		},
	}
	cmd.Flags().BoolVar(&internal, "internal", false, "list internal topics too")
	return cmd
}

// topicID is a topic's id as Kafka writes it.
func topicID(id kadm.TopicID) string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// topicInfo is what topic describe tells.
type topicInfo struct {
	Name       string            `json:"name"`
	ID         string            `json:"id"`
	Internal   bool              `json:"internal"`
	Durability string            `json:"durability,omitempty"`
	Configs    map[string]string `json:"configs"` // those that were set on the topic
	Partitions []partitionInfo   `json:"partitions"`
	Troubles   []trouble         `json:"troubles,omitempty"` // what is wrong, as the brokers tell
}

type partitionInfo struct {
	Partition int32   `json:"partition"`
	Leader    int32   `json:"leader"`
	Epoch     int32   `json:"epoch"`
	Replicas  []int32 `json:"replicas"`
	ISR       []int32 `json:"isr"`
	Start     int64   `json:"start"`
	End       int64   `json:"end"`
	Offline   []int32 `json:"offline_replicas,omitempty"`
	Size      int64   `json:"size"` // bytes of the leader's log, -1 if unknown
}

func (a *app) topicDescribe() *cobra.Command {
	return &cobra.Command{
		Use: "describe TOPIC...", Short: "show topics with their partitions and settings", Args: cobra.MinimumNArgs(1),
		ValidArgsFunction: a.CompleteTopics,
		Example:           "  ottla topic describe orders",
		RunE: func(cmd *cobra.Command, names []string) error {
			return a.WithClient(cmd.Context(), func(ctx context.Context, client *kgo.Client) error {
				infos, err := describeTopics(ctx, kadm.NewClient(client), names)
				if err == nil {
					err = addTroubles(ctx, client, infos)
				}
				if err != nil {
					return err
				}
				if a.Output == "json" {
					return a.PrintJSON(infos)
				}
				for i, info := range infos {
					if i > 0 {
						fmt.Fprintln(a.Out)
					}
					if err := a.printTopic(info); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}

func describeTopics(ctx context.Context, admin *kadm.Client, names []string) ([]topicInfo, error) {
	details, err := session.Topics(ctx, admin, names...)
	if err != nil {
		return nil, err
	}
	starts, err := admin.ListStartOffsets(ctx, names...)
	if err != nil && !errors.Is(err, kerr.LeaderNotAvailable) {
		return nil, err
	}
	ends, err := admin.ListEndOffsets(ctx, names...)
	if err != nil && !errors.Is(err, kerr.LeaderNotAvailable) {
		return nil, err
	}
	configs, err := admin.DescribeTopicConfigs(ctx, names...)
	if err != nil {
		return nil, err
	}
	sizes := logSizes(ctx, admin, details)
	var infos []topicInfo
	for _, d := range details.Sorted() {
		info := topicInfo{Name: d.Topic, ID: topicID(d.ID), Internal: d.IsInternal, Configs: map[string]string{}}
		for _, p := range d.Partitions.Sorted() {
			info.Partitions = append(info.Partitions, partitionInfo{
				p.Partition, p.Leader, p.LeaderEpoch, p.Replicas, p.ISR,
				offsetOf(starts, d.Topic, p.Partition), offsetOf(ends, d.Topic, p.Partition), p.OfflineReplicas, sizes.of(d.Topic, p.Partition, p.Leader),
			})
		}
		addConfigs(&info, configs)
		infos = append(infos, info)
	}
	return infos, nil
}

func addConfigs(info *topicInfo, all kadm.ResourceConfigs) {
	for _, rc := range all {
		if rc.Name != info.Name {
			continue
		}
		for _, c := range rc.Configs {
			if c.Source == kmsg.ConfigSourceDynamicTopicConfig {
				info.Configs[c.Key] = c.MaybeValue()
			}
			if c.Key == "durability" {
				info.Durability = c.MaybeValue()
			}
		}
	}
}

func offsetOf(all kadm.ListedOffsets, topic string, partition int32) int64 {
	o, ok := all.Lookup(topic, partition)
	if !ok || o.Err != nil {
		return -1
	}
	return o.Offset
}

// partitionSizes are bytes by topic, partition and broker.
type partitionSizes map[string]int64

func sizeKey(topic string, partition, broker int32) string {
	return fmt.Sprintf("%s/%d/%d", topic, partition, broker)
}

func (s partitionSizes) of(topic string, partition, broker int32) int64 {
	if n, ok := s[sizeKey(topic, partition, broker)]; ok {
		return n
	}
	return -1
}

// logSizes asks the brokers how large the logs are; a broker that does not tell is no error.
func logSizes(ctx context.Context, admin *kadm.Client, details kadm.TopicDetails) partitionSizes {
	sizes := partitionSizes{}
	all, err := admin.DescribeAllLogDirs(ctx, details.TopicsSet())
	if err != nil && all == nil {
		return sizes
	}
	all.Each(func(d kadm.DescribedLogDir) {
		d.Topics.Each(func(p kadm.DescribedLogDirPartition) {
			sizes[sizeKey(p.Topic, p.Partition, p.Broker)] += p.Size
		})
	})
	return sizes
}

// contracts say what each durability promises for acks=all.
var contracts = map[string]string{
	"disk":   "disk: acks=all means on disk (fsync) on every in-sync replica; a power cut loses nothing acknowledged",
	"memory": "memory: acks=all means in memory of every in-sync replica; a power cut of all of them can lose acknowledged records",
}

func (a *app) printTopic(info topicInfo) error {
	fmt.Fprintf(a.Out, "Topic       %s\nID          %s\n", info.Name, info.ID)
	if text, ok := contracts[info.Durability]; ok {
		fmt.Fprintf(a.Out, "Durability  %s\n", text)
	}
	if len(info.Configs) > 0 {
		var pairs []string
		for key, text := range info.Configs {
			pairs = append(pairs, key+"="+text)
		}
		slices.Sort(pairs)
		fmt.Fprintf(a.Out, "Settings    %s\n", strings.Join(pairs, "\n            "))
	}
	fmt.Fprintln(a.Out)
	t := session.NewTable("PARTITION", "LEADER", "EPOCH", "REPLICAS", "ISR", "START", "END", "SIZE")
	for _, p := range info.Partitions {
		leader, bytes := strconv.Itoa(int(p.Leader)), "-"
		if p.Leader < 0 {
			leader = "none"
		}
		if p.Size >= 0 {
			bytes = session.Size(p.Size)
		}
		t.Row(p.Partition, leader, p.Epoch, session.JoinInts(p.Replicas), session.JoinInts(p.ISR), p.Start, p.End, bytes)
	}
	if err := t.Write(a.Out); err != nil {
		return err
	}
	for i, p := range info.Troubles {
		if i == 0 {
			fmt.Fprintln(a.Out)
		}
		fmt.Fprintf(a.Out, "partition %d on broker %d: %s\n", p.Partition, p.Broker, p.Text)
	}
	return nil
}
