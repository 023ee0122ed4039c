package logfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// Verification is what Verify found.
type Verification struct {
	Files    int      `json:"files"`
	Batches  int64    `json:"batches"`
	Records  int64    `json:"records"`
	Bytes    int64    `json:"bytes"`
	Entries  int64    `json:"index_entries"`
	Problems []string `json:"problems"`
}

// Verify checks files that Find found: every batch's checksum and offsets, and that each index entry points to what it says. An error
// is about reading, not about what was read.
func Verify(files []string) (Verification, error) {
	v := Verification{Problems: []string{}}
	for _, name := range files {
		v.Files++
		if filepath.Ext(name) != ".log" {
			if _, err := os.Stat(strings.TrimSuffix(name, filepath.Ext(name)) + ".log"); errors.Is(err, fs.ErrNotExist) {
				v.Problems = append(v.Problems, name+": has no .log file beside it")
			}
			continue // checked with its log
		}
		if err := v.segment(name); err != nil {
			return v, err
		}
	}
	return v, nil
}

// seen is what the check of the indexes needs of a batch.
type seen struct {
	pos         int64
	first, last batch.Offset
	maxMs       int64 // the largest timestamp up to and with this batch
}

// segment checks a .log file and the indexes beside it. The error is about reading, not about what was read.
func (v *Verification) segment(name string) error {
	base, err := baseOffset(name)
	if err != nil {
		v.problem(name, "%v", err)
		return nil
	}
	var all []seen
	next, maxMs := base, int64(-1)
	err = scanLog(name, func(pos int64, b batch.Batch) error {
		v.Batches++
		v.Records += int64(b.Count())
		v.Bytes += int64(b.Size())
		if b.BaseOffset() < next {
			v.problem(name, "position %d: base offset is %d, expected %d or more", pos, b.BaseOffset(), next)
		}
		if err := b.CheckCRC(); err != nil {
			v.problem(name, "position %d: %v", pos, err)
		} else if err := checkRecords(b); err != nil {
			v.problem(name, "position %d: %v", pos, err)
		}
		next, maxMs = b.NextOffset(), max(maxMs, b.MaxTimestamp())
		all = append(all, seen{pos, b.BaseOffset(), b.LastOffset(), maxMs})
		return nil
	})
	if wrong, ok := errors.AsType[*placeError](err); ok {
		v.problem(name, "%v", wrong)
	} else if err != nil {
		return err
	}
	stem := strings.TrimSuffix(name, ".log")
	v.index(stem+".index", all, checkOffsets)
	v.index(stem+".timeindex", all, checkTimes)
	return nil
}

func (v *Verification) problem(name, format string, args ...any) {
	v.Problems = append(v.Problems, name+": "+fmt.Sprintf(format, args...))
}

// checkRecords walks a batch's records and compares their number with the header's.
func checkRecords(b batch.Batch) error {
	n := int32(0)
	for _, err := range b.All(batch.Limit{}) {
		if err != nil {
			return err
		}
		n++
	}
	if n != b.Count() {
		return fmt.Errorf("has %d records, expected %d", n, b.Count())
	}
	return nil
}

func (v *Verification) index(name string, all []seen, check func(entries []indexEntry, i int, all []seen) string) {
	entries, err := readIndex(name)
	if errors.Is(err, fs.ErrNotExist) {
		return // it is built again when the broker opens the segment
	}
	if err != nil {
		v.problem(name, "%v", err)
		return
	}
	for i := range entries {
		v.Entries++
		if text := check(entries, i, all); text != "" {
			v.problem(name, "entry %d: %s", i, text)
		}
	}
}

// checkOffsets checks that an entry's offset is in the batch at its position.
func checkOffsets(entries []indexEntry, i int, all []seen) string {
	e := entries[i]
	if i > 0 && e.offset <= entries[i-1].offset {
		return fmt.Sprintf("offset is %d, expected more than %d", e.offset, entries[i-1].offset)
	}
	at := sort.Search(len(all), func(k int) bool { return all[k].pos >= e.pos })
	if at == len(all) || all[at].pos != e.pos {
		return fmt.Sprintf("position is %d, where no batch begins", e.pos)
	}
	if e.offset < all[at].first || e.offset > all[at].last {
		return fmt.Sprintf("offset is %d, but the batch at %d has %d to %d", e.offset, e.pos, all[at].first, all[at].last)
	}
	return ""
}

// checkTimes checks that no record up to an entry's offset is younger than its timestamp.
func checkTimes(entries []indexEntry, i int, all []seen) string {
	e := entries[i]
	if i > 0 && (e.ms < entries[i-1].ms || e.offset < entries[i-1].offset) {
		return fmt.Sprintf("timestamp %d, offset %d, expected at least %d and %d", e.ms, e.offset, entries[i-1].ms, entries[i-1].offset)
	}
	at := sort.Search(len(all), func(k int) bool { return all[k].last >= e.offset })
	if at == len(all) || e.offset < all[at].first {
		return fmt.Sprintf("offset is %d, which is in no batch", e.offset)
	}
	if all[at].maxMs < e.ms {
		return fmt.Sprintf("timestamp is %d, but the newest up to offset %d is %d", e.ms, e.offset, all[at].maxMs)
	}
	return ""
}
