package log_test

import (
	"errors"
	"testing"
	"time"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/log"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// TestReadOfClosedLog: whoever reads beside a Close, as a fetch beside the deletion of its topic, is told, and does not look for
// the segments for ever.
func TestReadOfClosedLog(t *testing.T) {
	t.Parallel()
	l := openLog(t, vfs.NewMem(), log.OpenOptions{Options: defaults()})
	appendAt(t, l, epoch0, mk(t, 0, 3, 10, 0, epoch0.UnixMilli()))
	if err := l.Close(false); err != nil {
		t.Fatal(err)
	}
	for name, read := range map[string]func() error{
		"Read": func() error {
			_, err := l.Read(0, 3, 1<<20, true)
			return err
		},
		"Scan": func() error { return l.Scan(0, func(batch.Batch) error { return nil }) },
		"FindTimestamp": func() error {
			_, _, err := l.FindTimestamp(0, 3)
			return err
		},
		"MaxTimestamp": func() error {
			_, _, err := l.MaxTimestamp(3)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			done := make(chan error, 1)
			go func() { done <- read() }()
			select {
			case err := <-done:
				if !errors.Is(err, log.ErrClosed) {
					t.Errorf("%v, want ErrClosed", err)
				}
			case <-time.After(10 * time.Second):
				t.Error("no answer in 10 s")
			}
		})
	}
}
