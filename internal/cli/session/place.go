package session

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// Place is a place in a log: its start, its end, an offset, so many records before the end, or a time.
type Place struct {
	Kind   PlaceKind
	Offset int64 // of AtOffset; of BeforeEnd, how many
	Time   time.Time
}

// PlaceKind is what a Place counts from.
type PlaceKind int

// The kinds of places.
const (
	AtStart PlaceKind = iota
	AtEnd
	AtOffset
	BeforeEnd
	AtTime
)

// ParsePlace parses start, end, OFFSET, -N (N before the end) or @TIME; a time is RFC 3339, a date, a date and time in UTC, ms
// since 1970, or -DURATION before now.
func ParsePlace(text string) (Place, error) {
	switch {
	case text == "start" || text == "earliest" || text == "beginning":
		return Place{Kind: AtStart}, nil
	case text == "end" || text == "latest":
		return Place{Kind: AtEnd}, nil
	case strings.HasPrefix(text, "@"):
		t, err := ParseTime(text[1:], time.Now())
		return Place{Kind: AtTime, Time: t}, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return Place{}, Usagef("%q: must be start, end, OFFSET, -N (before the end) or @TIME", text)
	}
	if n < 0 {
		return Place{Kind: BeforeEnd, Offset: -n}, nil
	}
	return Place{Kind: AtOffset, Offset: n}, nil
}

// ParseTime parses a time as ParsePlace does after its @.
func ParseTime(text string, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil && ms >= 0 {
		return time.UnixMilli(ms), nil
	}
	if d, err := time.ParseDuration(text); err == nil {
		return now.Add(-d.Abs()), nil
	}
	return time.Time{}, Usagef("@%s: must be a time such as 2026-11-29T16:50:00Z, 2026-11-29, 1764435000000 (ms) or -1h", text)
}

// ResolvePlace finds a place's offset in each partition of a topic (or in those of only).
func ResolvePlace(ctx context.Context, admin *kadm.Client, at Place, topic string, only []int32) (map[int32]int64, error) {
	starts, err := listedOf(only)(admin.ListStartOffsets(ctx, topic))
	if err != nil {
		return nil, err
	}
	ends, err := listedOf(only)(admin.ListEndOffsets(ctx, topic))
	if err != nil {
		return nil, err
	}
	var byTime kadm.ListedOffsets
	if at.Kind == AtTime {
		if byTime, err = listedOf(only)(admin.ListOffsetsAfterMilli(ctx, at.Time.UnixMilli(), topic)); err != nil {
			return nil, err
		}
	}
	for _, p := range only {
		if _, ok := ends.Lookup(topic, p); !ok {
			return nil, NoPartition(topic, p, len(ends[topic]))
		}
	}
	offsets := make(map[int32]int64)
	for p, end := range ends[topic] {
		if len(only) > 0 && !slices.Contains(only, p) {
			continue
		}
		switch at.Kind {
		case AtStart:
			offsets[p] = starts[topic][p].Offset
		case AtEnd:
			offsets[p] = end.Offset
		case AtOffset:
			offsets[p] = max(at.Offset, starts[topic][p].Offset)
		case BeforeEnd:
			offsets[p] = max(end.Offset-at.Offset, starts[topic][p].Offset)
		case AtTime:
			offsets[p] = byTime[topic][p].Offset
		}
	}
	return offsets, nil
}

// listedOf is Listed for partitions, of which none stands for all: what is wrong with others is no error.
func listedOf(only []int32) func(all kadm.ListedOffsets, err error) (kadm.ListedOffsets, error) {
	return func(all kadm.ListedOffsets, err error) (kadm.ListedOffsets, error) {
		if len(only) == 0 || all == nil || err != nil && !errors.Is(err, kerr.LeaderNotAvailable) {
			return Listed(all, err)
		}
		wanted := make(kadm.ListedOffsets)
		all.Each(func(o kadm.ListedOffset) {
			if !slices.Contains(only, o.Partition) {
				o.Err = nil
			}
			if wanted[o.Topic] == nil {
				wanted[o.Topic] = make(map[int32]kadm.ListedOffset)
			}
			wanted[o.Topic][o.Partition] = o
		})
		for _, p := range only {
			for topic := range wanted {
				if _, ok := wanted.Lookup(topic, p); !ok && err != nil {
					return nil, err
				}
			}
		}
		return Listed(wanted, nil)
	}
}

// Listed turns the errors of single partitions into one.
func Listed(all kadm.ListedOffsets, err error) (kadm.ListedOffsets, error) {
	if err != nil {
		return nil, err
	}
	var problems []error
	all.Each(func(o kadm.ListedOffset) {
		if o.Err != nil && len(problems) == 0 {
			problems = append(problems, TopicError(o.Topic, o.Err, ""))
		}
	})
	return all, errors.Join(problems...)
}

// PartitionsFlag adds --partition.
func PartitionsFlag(cmd *cobra.Command, only *[]int32) {
	cmd.Flags().Int32SliceVarP(only, "partition", "p", nil, "only these partitions, `N,...`")
	cmd.Flags().Lookup("partition").DefValue = "" // pflag would show []
}
