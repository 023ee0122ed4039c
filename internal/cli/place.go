package cli

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// place is a place in a log: its start, its end, an offset, so many records before the end, or a time.
type place struct {
	kind   placeKind
	offset int64 // of atOffset; of beforeEnd, how many
	time   time.Time
}

type placeKind int

const (
	atStart placeKind = iota
	atEnd
	atOffset
	beforeEnd
	atTime
)

// parsePlace parses start, end, OFFSET, -N (N before the end) or @TIME; a time is RFC 3339, a date, a date and time in UTC, ms
// since 1970, or -DURATION before now.
func parsePlace(text string) (place, error) {
	switch {
	case text == "start" || text == "earliest" || text == "beginning":
		return place{kind: atStart}, nil
	case text == "end" || text == "latest":
		return place{kind: atEnd}, nil
	case strings.HasPrefix(text, "@"):
		t, err := parseTime(text[1:], time.Now())
		return place{kind: atTime, time: t}, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return place{}, usagef("%q: must be start, end, OFFSET, -N (before the end) or @TIME", text)
	}
	if n < 0 {
		return place{kind: beforeEnd, offset: -n}, nil
	}
	return place{kind: atOffset, offset: n}, nil
}

func parseTime(text string, now time.Time) (time.Time, error) {
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
	return time.Time{}, usagef("@%s: must be a time such as 2026-11-29T16:50:00Z, 2026-11-29, 1764435000000 (ms) or -1h", text)
}

// resolvePlace finds a place's offset in each partition of a topic (or in those of only).
func resolvePlace(ctx context.Context, admin *kadm.Client, at place, topic string, only []int32) (map[int32]int64, error) {
	starts, err := listed(admin.ListStartOffsets(ctx, topic))
	if err != nil {
		return nil, err
	}
	ends, err := listed(admin.ListEndOffsets(ctx, topic))
	if err != nil {
		return nil, err
	}
	var byTime kadm.ListedOffsets
	if at.kind == atTime {
		if byTime, err = listed(admin.ListOffsetsAfterMilli(ctx, at.time.UnixMilli(), topic)); err != nil {
			return nil, err
		}
	}
	for _, p := range only {
		if _, ok := ends.Lookup(topic, p); !ok {
			return nil, noPartition(topic, p, len(ends[topic]))
		}
	}
	offsets := make(map[int32]int64)
	for p, end := range ends[topic] {
		if len(only) > 0 && !slices.Contains(only, p) {
			continue
		}
		switch at.kind {
		case atStart:
			offsets[p] = starts[topic][p].Offset
		case atEnd:
			offsets[p] = end.Offset
		case atOffset:
			offsets[p] = max(at.offset, starts[topic][p].Offset)
		case beforeEnd:
			offsets[p] = max(end.Offset-at.offset, starts[topic][p].Offset)
		case atTime:
			offsets[p] = byTime[topic][p].Offset
		}
	}
	return offsets, nil
}

// listed turns the errors of single partitions into one.
func listed(all kadm.ListedOffsets, err error) (kadm.ListedOffsets, error) {
	if err != nil {
		return nil, err
	}
	var problems []error
	all.Each(func(o kadm.ListedOffset) {
		if o.Err != nil && len(problems) == 0 {
			problems = append(problems, topicError(o.Topic, o.Err, ""))
		}
	})
	return all, errors.Join(problems...)
}
