package log_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/log"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// TestTrace runs the scripts of testdata/trace: commands to a log, and each file-system operation they cause. Rewrite them
// with -rewrite, and commit only what you understand.
func TestTrace(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/trace", func(t *testing.T, path string) {
		s := &traced{t: t, mem: vfs.NewMem(), opts: defaults()}
		s.opts.SegmentBytes, s.opts.IndexInterval, s.opts.RetentionAge = 1000, 200, -1
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.out.Reset()
			s.t = t
			if err := s.run(d); err != nil {
				fmt.Fprintf(&s.out, "error: %v\n", err)
			}
			return s.out.String()
		})
	})
}

type traced struct {
	t    *testing.T
	mem  *vfs.Mem
	opts log.Options
	l    *log.Log
	out  strings.Builder
}

func (s *traced) run(d *datadriven.TestData) error {
	to := func() (n int64) { d.ScanArgs(s.t, "to", &n); return n }
	switch d.Cmd {
	case "open":
		return s.open(d)
	case "close":
		return s.l.Close(d.HasArg("clean"))
	case "crash": // only what was synced is left
		s.mem = s.mem.CrashClone(vfs.CrashOptions{})
		return s.l.Close(false)
	case "append":
		return s.append(d)
	case "sync":
		end, err := s.l.Sync()
		fmt.Fprintf(&s.out, "synced to %d\n", end)
		return err
	case "truncate":
		return s.report(s.l.Truncate(batch.Offset(to())))
	case "truncate-all":
		return s.report(s.l.TruncateAll(batch.Offset(to())))
	case "advance":
		return s.report(s.l.AdvanceStart(batch.Offset(to())))
	case "retain":
		s.opts.RetentionBytes = to()
		s.l.SetOptions(s.opts)
		_, err := s.l.Retain(epoch0, s.l.End())
		return s.report(err)
	case "roll-old":
		return s.report(s.l.RollIfOld(epoch0.Add(365 * 24 * time.Hour)))
	case "read":
		return s.read(to())
	case "write": // overwrites bytes of a file behind the log's back
		return s.damage(d)
	}
	return fmt.Errorf("unknown command %q", d.Cmd)
}

func (s *traced) open(d *datadriven.TestData) error {
	opts := log.OpenOptions{Options: s.opts, Clean: d.HasArg("clean")}
	var point, start int64
	d.MaybeScanArgs(s.t, "point", &point)
	d.MaybeScanArgs(s.t, "start", &start)
	opts.RecoveryPoint, opts.StartOffset = batch.Offset(point), batch.Offset(start)
	l, err := log.Open(vfs.Trace(s.mem, func(op vfs.Op) { fmt.Fprintln(&s.out, op) }), "t-0", epoch0, opts)
	if err != nil {
		return err
	}
	s.l = l
	if r := l.Recovery(); r != (log.Recovery{}) {
		fmt.Fprintf(&s.out, "walked %d segments, cut %d bytes, damaged %d, missing %d, bad: %v\n", r.Segments, r.Cut, r.Damaged, r.Missing, r.Bad)
	}
	return s.report(nil)
}

func (s *traced) append(d *datadriven.TestData) error {
	count, size, epoch := 1, 100, 0
	d.MaybeScanArgs(s.t, "count", &count)
	d.MaybeScanArgs(s.t, "size", &size)
	d.MaybeScanArgs(s.t, "epoch", &epoch)
	var group []batch.Batch
	for i := range count {
		group = append(group, mk(s.t, s.l.End()+batch.Offset(i), 1, size, batch.Epoch(epoch), epoch0.UnixMilli()+int64(s.l.End())))
	}
	return s.report(s.l.Append(epoch0, group))
}

func (s *traced) report(err error) error {
	fmt.Fprintf(&s.out, "log [%d, %d), %d segments, %d bytes\n", s.l.Start(), s.l.End(), s.l.Segments(), s.l.Size())
	return err
}

func (s *traced) read(at int64) error {
	r, err := s.l.Read(batch.Offset(at), s.l.End(), 1<<20, true)
	fmt.Fprintf(&s.out, "%d bytes\n", r.Len())
	r.Release()
	return err
}

func (s *traced) damage(d *datadriven.TestData) error {
	var name string
	var pos int64
	d.ScanArgs(s.t, "file", &name)
	d.ScanArgs(s.t, "pos", &pos)
	file, err := s.mem.OpenFile("t-0/"+name, 2)
	if err != nil {
		return err
	}
	if _, err := file.WriteAt([]byte(d.Input), pos); err != nil {
		return err
	}
	return file.Close()
}
