package crash

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// TestPower cuts the power under the broker: the process dies and what it had not synced is gone.
func TestPower(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting a file system needs root")
	}
	if _, err := os.Stat("/dev/fuse"); err != nil {
		t.Skip("this kernel has no FUSE: ", err)
	}
	d, addr := newDisk(), freeAddr(t)
	mnt := t.TempDir()
	server := mount(t, d, mnt)
	broker := startBroker(t, filepath.Join(mnt, "data"), addr)
	createTopic(t, addr)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	l := newLedger()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for name := range producers {
		wg.Go(func() { l.produce(ctx, t, addr, name) })
	}
	c := newCommits()
	for first := range committers {
		wg.Go(func() { c.run(ctx, t, addr, first, committers) })
	}
	defer wg.Wait()
	defer cancel()
	total := 0
	for n := range cycles(t, "OTTLA_POWER_CYCLES", 2) {
		before := l.len()
		pause(ctx, 300*time.Millisecond+time.Duration(rng.Int64N(int64(700*time.Millisecond))))
		kill(t, broker)
		if err := server.Unmount(); err != nil {
			t.Fatal(err)
		}
		dropped := d.cut(rng)
		total += dropped
		server = mount(t, d, mnt)
		broker = startBroker(t, filepath.Join(mnt, "data"), addr)
		l.check(t, addr)
		c.check(t, addr)
		t.Logf("cut %d: %d bytes dropped, %d records acknowledged since the last, %d in all, and %d commits",
			n+1, dropped, l.len()-before, l.len(), c.len())
	}
	if total == 0 || l.len() == 0 || c.len() == 0 {
		t.Errorf("%d bytes dropped, %d records and %d commits acknowledged: the test saw nothing", total, l.len(), c.len())
	}
	kill(t, broker)
	if err := server.Unmount(); err != nil {
		t.Error(err)
	}
}

func mount(t *testing.T, d *disk, dir string) *fuse.Server {
	t.Helper()
	timeout := time.Duration(0)
	server, err := fs.Mount(dir, &node{d: d, n: d.root}, &fs.Options{
		MountOptions: fuse.MountOptions{Name: "ottla-power", DirectMount: true, MaxWrite: 1 << 20},
		EntryTimeout: &timeout, AttrTimeout: &timeout,
	})
	if err != nil {
		t.Fatal(err)
	}
	return server
}
