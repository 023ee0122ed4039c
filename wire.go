package ottla

import (
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/api"
	"github.com/ottla-io/ottla/internal/api/aclapi"
	"github.com/ottla-io/ottla/internal/api/configapi"
	"github.com/ottla-io/ottla/internal/api/groupapi"
	"github.com/ottla-io/ottla/internal/broker"
	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/config"
	"github.com/ottla-io/ottla/internal/host"
	"github.com/ottla-io/ottla/internal/server"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// loadConfig resolves the options' settings.
func loadConfig(opts Options) (*config.Config, error) {
	if err := oneStore(opts); err != nil {
		return nil, err
	}
	in := config.Input{Environ: opts.Environ, File: opts.ConfigFile}
	if opts.ConfigFile != "" {
		text, err := os.ReadFile(opts.ConfigFile)
		if err != nil {
			return nil, err
		}
		in.Text = string(text)
	}
	for key, text := range opts.Settings {
		in.Flags = append(in.Flags, config.Flag{Key: key, Text: text, Place: "Settings"})
	}
	add := func(key, text, place string) {
		if text != "" {
			in.Flags = append(in.Flags, config.Flag{Key: key, Text: text, Place: place})
		}
	}
	add("log.dirs", opts.DataDir, "DataDir")
	add("admin.listener", opts.Admin, "Admin")
	add("listeners", opts.Listen, "Listen")
	return config.Load(in)
}

// oneStore refuses options that ask for memory and for a directory.
func oneStore(opts Options) error {
	for _, dir := range []struct{ name, text string }{
		{"DataDir", opts.DataDir}, {`Settings["log.dirs"]`, opts.Settings["log.dirs"]}, {`Settings["log.dir"]`, opts.Settings["log.dir"]},
	} {
		if opts.Memory && dir.text != "" {
			return fmt.Errorf("options Memory and %s=%q are both set: data is kept in memory or in a directory, so set one", dir.name, dir.text)
		}
	}
	return nil
}

// openFilesShare is the part of the process's limit of descriptors that the data directory's files may have.
const (
	openFilesShare = 4
	openFilesMin   = 64
)

// files opens the data directory. lock says whether it wants locking.
func (s *Server) files(opts Options) (files vfs.FS, lock bool, err error) {
	if opts.Memory {
		s.dataDir = "memory"
		return vfs.NewMem(), false, nil
	}
	if s.dataDir, err = filepath.Abs(s.config.List("log.dirs")[0]); err != nil {
		return nil, false, err
	}
	disk, err := vfs.OS(s.dataDir)
	if err != nil {
		return nil, false, fmt.Errorf("data directory %s: %w", s.dataDir, err)
	}
	s.disk = disk
	cache := vfs.Cache(disk, filesShare(openFilesMax()))
	cache.SyncFrom(filesShare(openFilesMax()) + unsyncedShare(openFilesMax()))
	return cache, true, nil
}

// filesShare is how many of the process's descriptors the data directory's files may have.
func filesShare(all int) int { return max(all/openFilesShare, openFilesMin) }

// unsyncedShare is how many more files with unsynced writes may have for a moment.
func unsyncedShare(all int) int { return max(all/8, openFilesMin) }

// nodeID is the node id of the settings, or the data directory's where they have none, or 1.
func (s *Server) nodeID(files vfs.FS) (int32, error) {
	if v := s.config.Value("node.id"); !v.Null && v.Text != "-1" {
		return int32(s.config.Int("node.id")), nil
	}
	id, ok, err := broker.StoredNode(files, s.dataDir)
	if err == nil && !ok {
		id = 1
	}
	return id, err
}

func (s *Server) brokerOptions(files vfs.FS, lock bool, node int32) broker.Options {
	c := s.config
	o := broker.Options{
		FS: files, DataDir: s.dataDir, NoLock: !lock, NodeID: node, Clock: time.Now, Log: s.log, Faults: s.rate.Logger(),
		Topic: topicValidator{s.settings}, Schema: schema{s.settings}, OnSettings: s.settings.follow, OnChange: s.changed, Advertise: s.endpoints(),
		DefaultPartitions:        int32(c.Int("num.partitions")),
		PartitionsMax:            partitionsMax(),
		DefaultReplicationFactor: int16(min(c.Int("default.replication.factor"), math.MaxInt16)),
		RecoveryWorkers:          c.Int("num.recovery.threads.per.data.dir"),
		MaintainInterval:         c.Millis("log.retention.check.interval.ms"),
		CheckpointEvery:          c.Millis("log.flush.offset.checkpoint.interval.ms"),
		Cleaner:                  s.cleanerOptions,
		OnSync:                   func(sync broker.Sync) { s.metrics.Synced(sync.Took, sync.Asked, sync.Err) },
	}
	if o.JournalBytes = c.Long("log.journal.bytes"); o.JournalBytes == 0 {
		o.JournalBytes = -1
	}
	if rack := c.String("broker.rack"); rack != "" {
		o.Rack = &rack
	}
	return o
}

// changed notes that the metadata has changed.
func (s *Server) changed() {
	select {
	case s.changes <- struct{}{}:
	default:
	}
}

// cleanerOptions are compaction's settings now: they may change while the broker runs.
func (s *Server) cleanerOptions() broker.Cleaner {
	c := s.settings.now.Load()
	threads := c.Int("log.cleaner.threads")
	return broker.Cleaner{
		Off: threads == 0 || !c.Bool("log.cleaner.enable"), Threads: threads,
		Memory: c.Long("log.cleaner.dedupe.buffer.size"), LoadFactor: c.Double("log.cleaner.io.buffer.load.factor"),
		Buffer: c.Int("log.cleaner.io.buffer.size"), BytesPerSecond: c.Double("log.cleaner.io.max.bytes.per.second"),
		Backoff: c.Millis("log.cleaner.backoff.ms"),
	}
}

// endpoints are where clients are told to connect: without a host where the address that a client reached is the one.
func (s *Server) endpoints() []meta.Endpoint {
	_, advertised, _, _ := s.config.Listeners() // listen has seen the error
	var all []meta.Endpoint
	for _, l := range s.listeners {
		e := meta.Endpoint{Listener: l.name}
		if at, ok := l.Addr().(*net.TCPAddr); ok { // listen opens no others
			e.Port = uint16(at.Port)
		}
		for _, a := range advertised {
			if a.Name == l.name {
				e.Host, e.Port = a.Host, a.Port
			}
		}
		all = append(all, e)
	}
	return all
}

// sessionIdle is how long a fetch session is kept unused while others want its place (Kafka's MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS).
const sessionIdle = 2 * time.Minute

func (s *Server) apiOptions(opts Options) api.Options {
	c := s.config
	return api.Options{
		Broker: s.broker, Log: s.log, Faults: s.rate.Logger(), Observer: s.metrics, Configs: s.settings,
		AutoCreateTopics:       c.Bool("auto.create.topics.enable"),
		KeepTopics:             !c.Bool("delete.topic.enable"),
		FetchMaxBytes:          c.Int("fetch.max.bytes"),
		FetchSessions:          c.Int("max.incremental.fetch.session.cache.slots"),
		SessionIdle:            sessionIdle,
		DescribedPartitionsMax: c.Int("max.request.partition.size.limit"),
		Handlers: []map[kmsg.Key]api.Handler{
			aclapi.Handlers(),
			configapi.Handlers(configapi.Options{Node: s.broker, Configs: s.settings, LogLevel: opts.LogLevel, Troubles: s.troubles}),
			groupapi.Handlers(groupapi.Options{Groups: groupCoordinator{s.groups}, Consumer: c.RebalanceProtocol("consumer")}),
		},
	}
}

func (s *Server) serverOptions(handlers *api.API) server.Options {
	c := s.config
	o := server.Options{
		Handler: handlers, Log: s.rate.Logger(), Observer: s.metrics,
		MaxFrame:            c.Int("socket.request.max.bytes"),
		MaxConnections:      min(c.Int("max.connections"), connectionsMax(openFilesMax())),
		MaxConnectionsPerIP: c.Int("max.connections.per.ip"),
		QueuedMaxBytes:      c.Long("queued.max.request.bytes"),
		IdleTimeout:         c.Millis("connections.max.idle.ms"),
	}
	if o.QueuedMaxBytes <= 0 {
		o.QueuedMaxBytes = host.RequestMemory()
	}
	if o.IdleTimeout < 0 {
		o.IdleTimeout = math.MaxInt64
	}
	return o
}

// connectionsMax is how many connections a process with a limit of files descriptors may have: all that the data directory's files do not
// take, but for an eighth, which unsynced files above their share, and connections that are refused, have. Without descriptors of its own the
// storage could write nothing.
func connectionsMax(files int) int {
	return max(files-filesShare(files)-unsyncedShare(files), openFilesMin)
}

// partitionsMax is how many partitions half of the memory that this process may use is for; any number if no limit is known.
func partitionsMax() int {
	const size = 1200 // bytes: 100,000 partitions took 1,100 each, and 20,000 that are being made 2,600
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		return 0
	}
	return int(max(limit/2/size, 20_000))
}
