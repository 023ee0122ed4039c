package coordinator

import (
	"time"

	"github.com/ottla-io/ottla/internal/coordinator/group"
	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// Figures are what metrics show of the groups that this node coordinates.
type Figures struct {
	// Groups come by shard, then by name.
	Groups []GroupFigures
	// Loading and Failed are shards whose groups are not known yet.
	Loading, Failed int
	// Offsets is how many are committed, of partitions that this node hosts; Unlisted of these are in the sums only.
	Offsets, Unlisted int
	// CommitsRefused are requests since the start of which some offset was refused; OffsetsRemoved are offsets that expired or were deleted,
	// alone, with their group or with their topic.
	CommitsRefused, OffsetsRemoved int64
}

// GroupFigures are a group's. Its topics are those that this node hosts.
type GroupFigures struct {
	Group, State, Type, ProtocolType string
	Members                          int
	// Commits are requests since the start of which some offset was committed.
	Commits    int64
	Rebalances []Rebalances // one for each reason
	// Lag is the sum of its partitions' in records. Seconds is the largest of its partitions'.
	Lag     int64
	Seconds Seconds
	Topics  []TopicFigures
}

// Rebalances is how many began for one reason since the start.
type Rebalances struct {
	Reason string
	Count  int64
}

// TopicFigures are a group's offsets and lag in one topic: sums over its partitions, of which those up to the bound are listed.
type TopicFigures struct {
	Topic       string
	Offset, Lag int64
	Partitions  []PartitionFigures
}

// PartitionFigures are a group's in one partition.
type PartitionFigures struct {
	Partition int32
	Offset    batch.Offset
	Lag       int64
	Seconds   Seconds
}

// Seconds are how old the first record is that a group has not read: 0 if it has read all, and not Known if the record could not be looked at.
type Seconds struct {
	Value float64
	Known bool
}

// Figures looks at all groups. Of their partitions, and of their topics, it lists the first most, so that memory is bounded; sums are of all.
// It takes each shard's lock for moments only, and opens nothing: lag in seconds is known of open partitions.
func (c *Coordinator) Figures(most int) Figures {
	t := c.table.Load()
	if t == nil {
		return Figures{}
	}
	c.stamps.begin(c.opts.Now())
	defer c.stamps.end()
	f := figuring{c: c, now: c.opts.Now(), partitionsLeft: most, topicsLeft: most}
	for _, s := range t.shards {
		state, refused, removed := s.figures()
		f.CommitsRefused += refused
		f.OffsetsRemoved += removed
		switch state {
		case loading:
			f.Loading++
		case failed:
			f.Failed++
		case active:
			s.survey(f.add)
		case closed:
		}
	}
	return f.Figures
}

// figuring is Figures under way.
type figuring struct {
	Figures
	c                          *Coordinator
	now                        time.Time
	partitionsLeft, topicsLeft int
}

// reading is where a group stands in a partition.
type reading struct {
	p  *partition.Partition // nil: not open
	at batch.Offset         // the first record that it has not read, of those that are there
	PartitionFigures
}

// add joins what a group has committed with the ends of the logs.
func (f *figuring) add(g surveyed) {
	out := GroupFigures{
		Group: g.Group, State: g.State, Type: g.Type, ProtocolType: g.ProtocolType, Members: g.Members, Commits: g.counts.commits,
		Rebalances: g.counts.rebalances, Seconds: Seconds{Known: true},
	}
	var worst reading // of those that are not listed
	for i := range g.Topics {
		t, ok := f.topic(&g.Topics[i], &out.Seconds, &worst)
		if !ok {
			continue
		}
		out.Lag += t.Lag
		if f.topicsLeft > 0 {
			f.topicsLeft--
			out.Topics = append(out.Topics, t)
		}
	}
	if worst.Lag > 0 {
		out.Seconds = out.Seconds.max(f.age(worst))
	}
	f.Groups = append(f.Groups, out)
}

// topic is what a group has in a topic; false if none of its partitions are here. It raises longest to the most seconds of those that are
// listed, and worst to the one with the most records of those that are not.
func (f *figuring) topic(t *group.SurveyedTopic, longest *Seconds, worst *reading) (out TopicFigures, ok bool) {
	out.Topic = t.Topic
	for _, o := range t.Offsets {
		at, here := f.read(t.Topic, o)
		if !here {
			continue
		}
		ok = true
		f.Offsets++
		out.Offset += int64(at.Offset)
		out.Lag += at.Lag
		if f.partitionsLeft <= 0 || f.topicsLeft <= 0 {
			f.Unlisted++
			if at.Lag > worst.Lag {
				*worst = at
			}
			continue
		}
		f.partitionsLeft--
		at.Seconds = f.age(at)
		*longest = longest.max(at.Seconds)
		out.Partitions = append(out.Partitions, at.PartitionFigures)
	}
	return out, ok
}

// read is where a group with that offset stands.
func (f *figuring) read(topic string, o group.SurveyedOffset) (at reading, here bool) {
	p, marks, here := f.c.opts.Node.Known(topic, o.Partition)
	at = reading{p: p, at: max(o.Offset, marks.Start)}
	at.Partition, at.Offset = o.Partition, o.Offset
	at.Lag = max(0, int64(marks.HighWatermark-o.Offset))
	return at, here
}

// age is how long ago the first record was written that is not read.
func (f *figuring) age(at reading) Seconds {
	switch {
	case at.Lag == 0:
		return Seconds{Known: true}
	case at.p == nil:
		return Seconds{}
	}
	ms, ok := f.c.stamps.of(at.p, at.at, f.c.opts.Now)
	if !ok {
		return Seconds{}
	}
	return Seconds{max(0, f.now.Sub(time.UnixMilli(ms)).Seconds()), true}
}

// max is the larger of two. One that is not known may be larger than 0, and is not told of beside one that is.
func (s Seconds) max(other Seconds) Seconds {
	switch {
	case s.Known && other.Known:
		return Seconds{max(s.Value, other.Value), true}
	case s.Value > 0:
		return s
	}
	return Seconds{other.Value, other.Value > 0}
}
