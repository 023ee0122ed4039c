package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"path"
	"runtime"

	"github.com/ottla-io/ottla/internal/cluster/controller"
	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
	"github.com/ottla-io/ottla/internal/storage/journal"
	"github.com/ottla-io/ottla/internal/storage/log"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// Open locks the data directory, loads the metadata log and makes the partitions ready to be opened. ctx bounds the opening only.
func Open(ctx context.Context, opts Options) (*Broker, error) {
	opts = opts.withDefaults()
	b := &Broker{
		opts: opts, log: opts.Log, faults: cmp.Or(opts.Faults, opts.Log), deleter: newDeleter(),
		pinned: make(chan struct{}, 1), unbegun: make(chan struct{}, 1), relieve: func() {},
	}
	b.inflating = partition.NewInflating(min(max(runtime.GOMAXPROCS(0), 2), inflatingMax))
	final := vfs.Final(opts.FS, b.fail)
	if cache, ok := opts.FS.(descriptors); ok {
		cache.Forgettable(b.forgettable)
		cache.OnPinned(b.onPinned)
		cache.OnFailedSync(final.Fail)
		b.relieve = cache.Relieve
	}
	b.opts.FS = final
	b.stopped, b.stop = context.WithCancel(context.Background())
	b.syncer = newSyncer(opts.Clock, opts.OnSync, b.syncFailed)
	b.cleaner = newCleaner(opts.Cleaner)
	b.space = newSpace(opts.FS, opts.ReserveBytes, opts.Log)
	if !opts.NoLock {
		lock, err := vfs.Lock(opts.DataDir)
		if err != nil {
			return nil, err
		}
		b.lock = lock
	}
	err := b.load(ctx)
	if lost := b.offline(); lost != nil { // by a failed sync, perhaps where its error did not matter
		err = fmt.Errorf("data directory %s: %w", opts.DataDir, lost)
	}
	if err != nil {
		if also := b.abandon(); also != nil {
			err = fmt.Errorf("%w; then, on giving the directory back: %w", err, also)
		}
		return nil, err
	}
	b.up.Store(true)
	return b, nil
}

// descriptors is a file system that bounds the open descriptors: vfs.FileCache.
type descriptors interface {
	Forgettable(match func(name string) bool)
	OnPinned(fn func())
	OnFailedSync(fn func(error))
	Relieve()
}

// onPinned is told that files with unsynced writes hold more descriptors than files should.
func (b *Broker) onPinned() { signal(b.pinned) }

// signal puts a token into c, unless one is there.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// inflatingMax is how many batches are decompressed at a time at most: each takes some 10 MiB, and one may take 128 MiB.
const inflatingMax = 8

// forgettable says of a file that its unsynced writes need not hold a descriptor: an index, which is made again from its segment's
// log when it is damaged (10,000 partitions have 20,000 of them), or a segment of a partition that promises the page cache only
// (10,000 of them written to at once).
func (b *Broker) forgettable(name string) bool {
	switch path.Ext(name) {
	case ".index", ".timeindex", ".txnindex":
		return true
	case ".log":
		t, index, ok := topic.ParseDir(path.Dir(name))
		if !ok {
			return false
		}
		table := b.table.Load()
		if table == nil {
			return false
		}
		h, _ := table.byName.Get(t)
		if h == nil || int(index) >= len(h.slots) || h.slots[index] == nil {
			return false
		}
		p := h.slots[index].open.Load()
		return p != nil && p.PromisesMemory()
	}
	return false
}

// abandon gives back what an Open that failed has taken.
func (b *Broker) abandon() error {
	b.stop()
	var err error
	if b.metadata != nil {
		err = b.metadata.Close(false)
	}
	return errors.Join(err, b.unlock())
}

func (b *Broker) unlock() error {
	if b.lock == nil {
		return nil
	}
	return b.lock.Release()
}

// load brings the broker up. Until the marker is gone nothing but the files of the next lines is written.
func (b *Broker) load(ctx context.Context) (err error) {
	if err := b.space.makeRoom(); err != nil {
		return err
	}
	files := b.opts.FS
	found, err := readContents(files, b.opts.DataDir)
	if err != nil {
		return err
	}
	if err := found.check(); err != nil {
		return err
	}
	if b.properties, err = loadMetaProperties(files, b.opts.DataDir, b.opts.NodeID, b.opts.ClusterID); err != nil {
		return err
	}
	level, err := checkFormat(files, b.opts.DataDir)
	if err != nil {
		return err
	}
	if err := b.prepareJournal(); err != nil {
		return err
	}
	clean, lastEpoch, err := takeMarker(files)
	if err != nil {
		return err
	}
	b.clean = clean
	top, err := b.readTop(lastEpoch, found)
	if err != nil {
		return err
	}
	if top.adopting { // before there is a metadata log
		if err := writeSmall(files, adoptingFile, nil); err != nil {
			return err
		}
	}
	if err := b.openMetadata(top); err != nil {
		return err
	}
	if top.restored, err = b.replayJournal(); err != nil {
		return err
	}
	adopted, err := b.findAdoptable(top)
	if err != nil {
		return err
	}
	b.epoch, err = b.control.Start(ctx, controller.Node{
		ID: b.opts.NodeID, Incarnation: randomID(), Rack: b.opts.Rack, Endpoints: b.opts.Advertise,
		Directory: b.properties.directoryID, Unclean: !clean, Adopt: adopted,
	})
	if err != nil {
		return fmt.Errorf("register with the metadata log: %w", err)
	}
	top.removed = b.control.TakeRemoved()
	b.host(top)
	if err := b.sweep(top); err != nil {
		return err
	}
	if err := b.begin(level, top); err != nil {
		return err
	}
	b.space.keepReserve()
	return nil
}

// metadataKey is the metadata log in the files at the top.
var metadataKey = partitionKey{topic: topic.ClusterMetadata}

// openMetadata replays the metadata log.
func (b *Broker) openMetadata(top *top) error {
	dir := topic.Dir(topic.ClusterMetadata, 0)
	state, err := controller.LoadSnapshot(b.opts.FS, dir, b.properties.clusterID, b.opts.NodeID, func(err error) {
		b.log.Warn("metadata snapshot skipped", slog.Any("err", err))
	})
	if err != nil {
		return err
	}
	b.metadata, err = log.Open(b.opts.FS, dir, b.Now(), log.OpenOptions{
		Options: metadataOptions(), Clean: b.clean,
		RecoveryPoint: top.recoveryPoints[metadataKey], StartOffset: top.starts[metadataKey],
	})
	if err != nil {
		return fmt.Errorf("open the metadata log: %w", copyNeeded(dir, err))
	}
	if missing := b.metadata.Recovery().Missing; missing > 0 && top.hasMetadata && !top.adopting {
		return fmt.Errorf("metadata log %s ends at offset %d, its recovery point is %d: topics and settings would be forgotten; restore the directory "+
			"from a copy", dir, b.metadata.End(), top.recoveryPoints[metadataKey])
	}
	journal := controller.NewLocal(b.metadata, b.opts.Clock)
	if b.control, err = controller.Open(journal, state, b.published); err != nil {
		return copyNeeded(dir, err)
	}
	b.control.OnRefused(b.space.giveReserve)
	return nil
}

// copyNeeded adds to the error of a damaged metadata log what to do.
func copyNeeded(dir string, err error) error {
	if errors.Is(err, batch.ErrCorrupt) {
		return fmt.Errorf("%w; topics and settings would be forgotten: put back a copy of %s", err, dir)
	}
	return err
}

// metadataOptions are the settings of the metadata log: nothing of it is ever retained away, since snapshots are not written yet.
func metadataOptions() log.Options {
	return log.Options{
		SegmentBytes: 1 << 30, SegmentAge: math.MaxInt64, IndexInterval: 4096, IndexBytesMax: 10 << 20,
		RetentionBytes: -1, RetentionAge: -1,
	}
}

// top is what stands at the top of the data directory when the broker comes up.
type top struct {
	recoveryPoints checkpoint
	starts         checkpoint
	highWatermarks checkpoint
	cleaned        checkpoint
	manifest       manifest // nil if there is none to be believed
	restored       map[journal.Key]batch.Offset
	// dirs are the partitions' directories, by what they are named for; other lists the rest.
	dirs        map[partitionKey]bool
	deleted     []string
	other       []string
	hasMetadata bool
	// hasCheckpoints: recovery points were written before.
	hasCheckpoints bool
	// adopting: partitions are to be made topics, or that was begun and did not come to its end.
	adopting bool
	removed  map[topic.ID]string // the topics that the metadata log removes, by id
}

// readTop reads the checkpoints and the manifest, and sorts the names of the directories.
func (b *Broker) readTop(lastEpoch int64, found *contents) (*top, error) {
	files := b.opts.FS
	report := func(err error) {
		b.log.Warn("file in the data directory is damaged", slog.String("dir", b.opts.DataDir), slog.Any("err", err))
	}
	t := &top{dirs: map[partitionKey]bool{}}
	for _, c := range []struct {
		name string
		to   *checkpoint
	}{{recoveryPointFile, &t.recoveryPoints}, {startOffsetFile, &t.starts}, {highWatermarkFile, &t.highWatermarks}, {cleanedFile, &t.cleaned}} {
		var err error
		if *c.to, err = readCheckpoint(files, c.name, report); err != nil {
			return nil, err
		}
	}
	if b.clean {
		var err error
		if t.manifest, err = readManifest(files, lastEpoch, report); err != nil {
			return nil, err
		}
	}
	for _, c := range []checkpoint{t.recoveryPoints, t.starts, t.highWatermarks} {
		b.checkpoints.note(c)
	}
	for _, e := range found.entries {
		t.note(e)
	}
	t.hasCheckpoints = found.names[recoveryPointFile]
	t.adopting = found.names[adoptingFile] || !t.hasMetadata && len(t.dirs) > 0
	return t, nil
}

func (t *top) note(e fs.DirEntry) {
	if !e.IsDir() {
		return
	}
	name, index, ok := topic.ParseDir(e.Name())
	switch {
	case topic.IsDeleteDir(e.Name()):
		t.deleted = append(t.deleted, e.Name())
	case !ok:
		t.other = append(t.other, e.Name())
	case name == topic.ClusterMetadata:
		t.hasMetadata = true
	default:
		t.dirs[partitionKey{name, index}] = true
	}
}

// knownOf is what the files at the top say of a partition.
func (t *top) knownOf(k partitionKey, id topic.ID) known {
	n := known{recoveryPoint: t.recoveryPoints[k], highWatermark: t.highWatermarks[k], cleaned: t.cleaned[k]}
	// What the journal restored was acknowledged and is synced: recovery must not cut it.
	n.recoveryPoint = max(n.recoveryPoint, t.restored[journal.Key{Dir: topic.Dir(k.topic, k.index), Topic: id}])
	n.start = t.starts[k]
	n.size = sizeUnknown
	if f, ok := t.manifest[k]; ok && f.id == id {
		n.facts = f
	}
	return n
}

// sizeUnknown stands for the size of a partition that no manifest tells of.
const sizeUnknown int64 = -1
