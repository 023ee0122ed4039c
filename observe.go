package ottla

import (
	"net"

	"github.com/ottla-io/ottla/internal/admin"
	"github.com/ottla-io/ottla/internal/api/configapi"
	"github.com/ottla-io/ottla/internal/coordinator"
)

// figures is what the metrics show that is not counted but looked at.
func (s *Server) figures() admin.Figures {
	st := s.broker.Stats()
	image := s.broker.Image()
	f := admin.Figures{
		Hosted: st.Hosted, Opened: st.Opened, Offline: st.Offline, Recovering: st.Recovering, DiskFull: st.DiskFull,
		Controller: image.Controller == s.broker.NodeID(), Brokers: len(image.Brokers),
	}
	m := s.kafka.RequestMemory()
	f.Requests = admin.RequestFigures{Held: m.Used, Unfinished: m.Unfinished, Limit: m.Limit}
	c := st.Cleaner
	f.Cleaner = admin.CleanerFigures{
		Passes: c.Passes, Failed: c.Failed, BytesRead: c.BytesRead, BytesWritten: c.BytesWritten,
		RecordsRead: c.RecordsRead, RecordsRemoved: c.RecordsRemoved, LastPassSeconds: c.LastPass.Seconds(),
		MaxDirtyRatio: c.MaxDirtyRatio, Uncleanable: c.Uncleanable,
	}
	for _, t := range image.Topics {
		f.Topics = append(f.Topics, admin.TopicFigures{Name: t.Name, Partitions: len(t.Partitions)})
	}
	for _, dir := range s.broker.LogDirs(nil) {
		f.DiskFree, f.DiskTotal = dir.Free, dir.Total
		if dir.Err != nil {
			f.DirsOffline++
		}
		for _, p := range dir.Partitions {
			_, marks, _ := s.broker.Known(p.Topic, p.Index)
			f.Logs = append(f.Logs, admin.LogFigures{
				Topic: p.Topic, Partition: p.Index, Bytes: p.Size, Segments: p.Segments, Start: int64(marks.Start), End: int64(marks.HighWatermark),
			})
		}
	}
	f.Groups = groupsFigures(s.groups.Figures(s.config.Int("admin.metrics.partitions.max")))
	return f
}

// troubles are what is wrong with a topic's partitions here, as clients that ask are told.
func (s *Server) troubles(topic string) (list []configapi.Trouble) {
	for _, t := range s.broker.Troubles(topic) {
		list = append(list, configapi.Trouble{Partition: t.Index, Offline: t.Offline, Text: t.Text})
	}
	return list
}

// groupsFigures are those of the coordinator as the metrics want them.
func groupsFigures(f coordinator.Figures) admin.GroupsFigures {
	out := admin.GroupsFigures{
		Groups: make([]admin.GroupFigures, len(f.Groups)), Loading: f.Loading, Failed: f.Failed,
		Offsets: f.Offsets, Unlisted: f.Unlisted, CommitsRefused: f.CommitsRefused, OffsetsRemoved: f.OffsetsRemoved,
	}
	for i, g := range f.Groups {
		to := &out.Groups[i]
		*to = admin.GroupFigures{
			Name: g.Group, State: g.State, Type: g.Type, ProtocolType: g.ProtocolType, Members: g.Members,
			Commits: g.Commits, Lag: g.Lag, Seconds: seconds(g.Seconds),
		}
		for _, r := range g.Rebalances {
			to.Rebalances = append(to.Rebalances, admin.RebalanceFigures(r))
		}
		for _, t := range g.Topics {
			topic := admin.GroupTopicFigures{Name: t.Topic, Offset: t.Offset, Lag: t.Lag}
			for _, p := range t.Partitions {
				topic.Partitions = append(topic.Partitions, admin.GroupPartitionFigures{
					Partition: p.Partition, Offset: int64(p.Offset), Lag: p.Lag, Seconds: seconds(p.Seconds),
				})
			}
			to.Topics = append(to.Topics, topic)
		}
	}
	return out
}

func seconds(s coordinator.Seconds) float64 {
	if !s.Known {
		return -1
	}
	return s.Value
}

// adminOptions are those of health, metrics and profiles.
func (s *Server) adminOptions() admin.Options {
	c := s.config
	return admin.Options{
		Metrics: s.metrics, Healthy: s.broker.Healthy, Ready: s.ready, Figures: s.figures,
		Profiles: profiles(c.String("admin.pprof"), s.http.Addr()),
	}
}

// profiles reports whether a listener at addr serves profiles with admin.pprof=setting.
func profiles(setting string, addr net.Addr) bool {
	if setting != "loopback" {
		return setting == "on"
	}
	at, ok := addr.(*net.TCPAddr)
	return ok && at.IP.IsLoopback()
}

// metricBounds returns how many series /metrics may have.
func (s *Server) metricBounds() admin.Bounds {
	c := s.config
	return admin.Bounds{
		Topics: c.Int("admin.metrics.topics.max"), Groups: c.Int("admin.metrics.groups.max"), Partitions: c.Int("admin.metrics.partitions.max"),
	}
}
