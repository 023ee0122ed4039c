package consume

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// groupLag is what group describe tells.
type groupLag struct {
	groupView
	Partitions []partitionLag `json:"partitions"`
	// Lag is of all partitions that have a committed offset; LagSeconds the most of them, nil if none is known.
	Lag        int64    `json:"lag"`
	LagSeconds *float64 `json:"lagSeconds"`
}

// partitionLag is how far a group is in one partition; nil is not known.
type partitionLag struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Committed *int64 `json:"committed"`
	Start     *int64 `json:"start"`
	End       *int64 `json:"end"`
	Lag       *int64 `json:"lag"`
	// LagSeconds is the age of the next record to consume.
	LagSeconds *float64 `json:"lagSeconds"`
	Metadata   string   `json:"metadata,omitempty"` // what the consumer kept with the offset
	Member     string   `json:"member,omitempty"`
	InstanceID string   `json:"instanceId,omitempty"`
	ClientID   string   `json:"clientId,omitempty"`
	Host       string   `json:"host,omitempty"`
	Error      string   `json:"error,omitempty"` // why End is not known
}

// lags finds how far groups are in their partitions: those with an offset, those that somebody owns, and all of topics that members subscribe to.
func lags(ctx context.Context, admin *kadm.Client, groups []groupView) ([]groupLag, error) {
	names := make([]string, len(groups))
	for i := range groups {
		names[i] = groups[i].Group
	}
	committed := admin.FetchManyOffsets(ctx, names...)
	all := make([]groupLag, len(groups))
	rows := make([]map[string]map[int32]*partitionLag, len(groups))
	topics := make(map[string]bool)
	for i := range groups {
		got := committed[names[i]]
		if got.Err != nil {
			return nil, groupError(names[i], got.Err, "")
		}
		all[i].groupView = groups[i]
		rows[i] = partitionsOf(&groups[i], got.Fetched)
		for topic := range rows[i] {
			topics[topic] = true
		}
	}
	starts, ends, err := logBounds(ctx, admin, slices.Sorted(maps.Keys(topics)))
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i].Partitions = measure(rows[i], starts, ends)
		for _, p := range all[i].Partitions {
			if p.Lag != nil {
				all[i].Lag += *p.Lag
			}
		}
	}
	return all, nil
}

// partitionsOf are the partitions of a group by topic. A topic that a member subscribes to is there even if nothing is known of its partitions.
func partitionsOf(g *groupView, committed kadm.OffsetResponses) map[string]map[int32]*partitionLag {
	rows := make(map[string]map[int32]*partitionLag)
	at := func(topic string, partition int32) *partitionLag {
		if rows[topic] == nil {
			rows[topic] = make(map[int32]*partitionLag)
		}
		if rows[topic][partition] == nil {
			rows[topic][partition] = &partitionLag{Topic: topic, Partition: partition}
		}
		return rows[topic][partition]
	}
	committed.Each(func(o kadm.OffsetResponse) {
		if o.Err == nil { // a negative offset is one that a client has committed
			row := at(o.Topic, o.Partition)
			row.Committed, row.Metadata = new(o.At), o.Metadata
		}
	})
	for i := range g.Members {
		m := &g.Members[i]
		for topic, partitions := range m.owns {
			for _, p := range partitions {
				row := at(topic, p)
				row.Member, row.InstanceID, row.ClientID, row.Host = m.ID, m.InstanceID, m.ClientID, m.Host
			}
		}
		for _, topic := range m.Topics {
			if rows[topic] == nil {
				rows[topic] = make(map[int32]*partitionLag)
			}
		}
	}
	return rows
}

// logBounds are the start and end of all partitions of topics. Partitions of topics that are not there have an error.
func logBounds(ctx context.Context, admin *kadm.Client, topics []string) (starts, ends kadm.ListedOffsets, err error) {
	if len(topics) == 0 {
		return nil, nil, nil
	}
	if starts, err = admin.ListStartOffsets(ctx, topics...); err != nil {
		return nil, nil, err
	}
	ends, err = admin.ListEndOffsets(ctx, topics...)
	return starts, ends, err
}

// measure joins partitions to their logs' bounds, and sorts them.
func measure(rows map[string]map[int32]*partitionLag, starts, ends kadm.ListedOffsets) []partitionLag {
	all := []partitionLag{}
	for topic, partitions := range rows {
		for p, end := range ends[topic] {
			if partitions[p] == nil && p >= 0 && end.Err == nil {
				partitions[p] = &partitionLag{Topic: topic, Partition: p}
			}
		}
		for p, row := range partitions {
			start, end := starts[topic][p], ends[topic][p]
			if _, known := ends[topic][p]; !known {
				end.Err = kerr.UnknownTopicOrPartition
			}
			if err := cmp.Or(start.Err, end.Err); err != nil {
				row.Error = err.Error()
				if errors.Is(err, kerr.UnknownTopicOrPartition) {
					row.Error = "the topic or partition is not there any more"
				}
			} else {
				row.Start, row.End = new(start.Offset), new(end.Offset)
				if row.Committed != nil {
					row.Lag = new(max(end.Offset-max(*row.Committed, start.Offset), 0))
				}
			}
			all = append(all, *row)
		}
	}
	slices.SortFunc(all, func(a, b partitionLag) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return all
}

// What is spent on the ages of the records that are next: reads of so many partitions of a group, for so long in all.
const (
	agesMost = 1000
	agesTime = 3 * time.Second
)

// addAges finds the age of the record that is next in each partition that lags. What is not found in time stays unknown.
func (a *commands) addAges(ctx context.Context, groups []groupLag) error {
	ctx, cancel := context.WithTimeout(ctx, min(agesTime, a.Timeout/2))
	defer cancel()
	for i := range groups {
		places := make(map[string]map[int32]kgo.Offset)
		asked := 0
		for _, p := range groups[i].Partitions {
			if p.Lag == nil || *p.Lag == 0 || asked == agesMost {
				continue
			}
			if places[p.Topic] == nil {
				places[p.Topic] = make(map[int32]kgo.Offset)
			}
			places[p.Topic][p.Partition] = kgo.NewOffset().At(max(*p.Committed, *p.Start))
			asked++
		}
		times, err := a.timesAt(ctx, places, asked)
		if err != nil {
			return err
		}
		groups[i].age(times, time.Now())
	}
	return nil
}

// age fills in what is known of the ages.
func (g *groupLag) age(times map[string]map[int32]time.Time, now time.Time) {
	for i := range g.Partitions {
		p := &g.Partitions[i]
		if at, ok := times[p.Topic][p.Partition]; ok {
			p.LagSeconds = new(max(now.Sub(at), 0).Seconds())
		} else if p.Lag != nil && *p.Lag == 0 {
			p.LagSeconds = new(0.0)
		}
		if p.LagSeconds != nil && (g.LagSeconds == nil || *g.LagSeconds < *p.LagSeconds) {
			g.LagSeconds = p.LagSeconds
		}
	}
}

// timesAt reads the timestamps of the records at, or next after, n places. It stops when ctx ends, with those that it has.
func (a *commands) timesAt(ctx context.Context, places map[string]map[int32]kgo.Offset, n int) (map[string]map[int32]time.Time, error) {
	times := make(map[string]map[int32]time.Time)
	if n == 0 || ctx.Err() != nil {
		return times, nil
	}
	client, err := a.Client(ctx, kgo.ConsumePartitions(places), kgo.ConsumeResetOffset(kgo.NoResetOffset()), kgo.KeepControlRecords(),
		kgo.FetchMaxPartitionBytes(16<<10), kgo.FetchMaxBytes(4<<20), kgo.FetchMaxWait(100*time.Millisecond))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	for n > 0 {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			break
		}
		done := make(map[string][]int32)
		fetches.EachPartition(func(fp kgo.FetchTopicPartition) {
			if _, again := times[fp.Topic][fp.Partition]; again || fp.Err == nil && len(fp.Records) == 0 {
				return
			}
			n--
			done[fp.Topic] = append(done[fp.Topic], fp.Partition)
			if len(fp.Records) > 0 {
				if times[fp.Topic] == nil {
					times[fp.Topic] = make(map[int32]time.Time)
				}
				times[fp.Topic][fp.Partition] = fp.Records[0].Timestamp
			}
		})
		client.PauseFetchPartitions(done)
	}
	return times, nil
}
