package consume

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/cli/session"
)

// complete is the selection of a seek: the partitions of the file, those that are named, or all that have an offset. Topics that are named must be
// there; of the others, those that are not there any more are left out.
func (a *commands) complete(ctx context.Context, admin *kadm.Client, name string, where selection, want target, committed map[string]map[int32]int64) (selection, error) {
	rows := committed
	if want.file != nil {
		rows = want.file
	}
	if len(where) > 0 || want.file != nil {
		if len(where) == 0 {
			where = partitionsIn(rows)
		}
		_, err := session.Topics(ctx, admin, slices.Sorted(maps.Keys(where))...)
		return where, err
	}
	where = partitionsIn(rows)
	if len(where) == 0 {
		return where, nil
	}
	details, err := admin.ListTopicsWithInternal(ctx, slices.Sorted(maps.Keys(where))...)
	if err != nil {
		return nil, err
	}
	for _, d := range details.Sorted() {
		if errors.Is(d.Err, kerr.UnknownTopicOrPartition) {
			fmt.Fprintf(a.ErrOut, "note: topic %s, in which group %s has offsets, is not there any more\n", d.Topic, name)
			delete(where, d.Topic)
			continue
		}
		if d.Err != nil {
			return nil, session.TopicError(d.Topic, d.Err, "")
		}
	}
	return where, nil
}

func partitionsIn(rows map[string]map[int32]int64) selection {
	where := selection{}
	for topic, partitions := range rows {
		where[topic] = slices.Sorted(maps.Keys(partitions))
	}
	return where
}

// seeker finds where a seek moves one partition after another.
type seeker struct {
	*commands
	want                target
	committed           map[string]map[int32]int64
	starts, ends, times kadm.ListedOffsets
}

// row is what becomes of a partition; it is not ok if it stays as it is, without an offset.
func (s *seeker) row(topic string, p int32) (row seekRow, ok bool, err error) {
	end, ok := s.ends.Lookup(topic, p)
	if !ok {
		return row, false, session.NoPartition(topic, p, len(s.ends[topic]))
	}
	start := s.starts[topic][p]
	row = seekRow{Topic: topic, Partition: p}
	if at, ok := s.committed[topic][p]; ok {
		row.Before = &at
	}
	after, err := s.after(&row, start.Offset, end.Offset)
	if errors.Is(err, errStays) {
		return row, false, nil
	}
	if err != nil {
		return row, false, err
	}
	row.After = min(max(after, start.Offset), end.Offset)
	row.Lag = end.Offset - row.After
	if row.After != after {
		fmt.Fprintf(s.ErrOut, "note: partition %d of %s: offset %d is outside of the log, which is %d to %d; %d it is\n",
			p, topic, after, start.Offset, end.Offset, row.After)
	}
	return row, true, nil
}

// errStays marks a partition that has no offset to stay at.
var errStays = errors.New("no offset")

// after is the offset that is asked for.
func (s *seeker) after(row *seekRow, start, end int64) (int64, error) {
	switch w := s.want; {
	case w.file != nil:
		return w.file[row.Topic][row.Partition], nil
	case w.current && row.Before == nil:
		return 0, errStays
	case w.current:
		return *row.Before, nil
	case w.shift != nil && row.Before == nil:
		return 0, fmt.Errorf("partition %d of %s has no committed offset to move from; give --to", row.Partition, row.Topic)
	case w.shift != nil:
		return added(*row.Before, *w.shift), nil
	case w.place.Kind == session.AtStart:
		return start, nil
	case w.place.Kind == session.AtEnd:
		return end, nil
	case w.place.Kind == session.BeforeEnd:
		return max(end-w.place.Offset, start), nil
	case w.place.Kind == session.AtTime:
		return s.times[row.Topic][row.Partition].Offset, nil
	default:
		return w.place.Offset, nil
	}
}

// added is a+b, or the largest or smallest number there is where the sum lies beyond it.
func added(a, b int64) int64 {
	switch {
	case b > 0 && a > math.MaxInt64-b:
		return math.MaxInt64
	case b < 0 && a < math.MinInt64-b:
		return math.MinInt64
	}
	return a + b
}

// readOffsets reads lines of topic,partition,offset, or of group,topic,partition,offset, of which it takes the group's.
func (a *commands) readOffsets(file, group string) (map[string]map[int32]int64, error) {
	in := a.Stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	offsets := make(map[string]map[int32]int64)
	r := csv.NewReader(in)
	r.FieldsPerRecord = -1
	r.TrimLeadingSpace = true
	r.Comment = '#'
	for {
		fields, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		line, _ := r.FieldPos(0)
		if len(fields) == 4 {
			if fields[0] != group {
				continue
			}
			fields = fields[1:]
		}
		if err := addOffset(offsets, fields); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", file, line, err)
		}
	}
	if len(offsets) == 0 {
		return nil, fmt.Errorf("%s has no offsets of group %s; a line is topic,partition,offset", file, group)
	}
	return offsets, nil
}

func addOffset(offsets map[string]map[int32]int64, fields []string) error {
	if len(fields) != 3 {
		return fmt.Errorf("%d fields; must be topic,partition,offset", len(fields))
	}
	p, err := strconv.ParseInt(fields[1], 10, 32)
	if err != nil || p < 0 {
		return fmt.Errorf("%q is no partition; a line is topic,partition,offset", fields[1])
	}
	offset, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil || offset < 0 {
		return fmt.Errorf("%q is no offset; a line is topic,partition,offset", fields[2])
	}
	if offsets[fields[0]] == nil {
		offsets[fields[0]] = make(map[int32]int64)
	}
	if before, ok := offsets[fields[0]][int32(p)]; ok && before != offset {
		return fmt.Errorf("partition %d of %s has two offsets, %d and %d", p, fields[0], before, offset)
	}
	offsets[fields[0]][int32(p)] = offset
	return nil
}
