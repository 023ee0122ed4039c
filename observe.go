package ottla

import (
	"github.com/ottla-io/ottla/internal/admin"
)

// figures is what the metrics show that is not counted but looked at.
func (s *Server) figures() admin.Figures {
	st := s.broker.Stats()
	image := s.broker.Image()
	f := admin.Figures{
		Hosted: st.Hosted, Opened: st.Opened, Offline: st.Offline, Recovering: st.Recovering, DiskFull: st.DiskFull,
		Controller: image.Controller == s.broker.NodeID(), Brokers: len(image.Brokers),
		RequestMemory: s.kafka.RequestMemory(),
	}
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
			f.Logs = append(f.Logs, admin.LogFigures{Topic: p.Topic, Partition: p.Index, Bytes: p.Size, Segments: p.Segments})
		}
	}
	return f
}
