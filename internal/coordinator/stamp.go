package coordinator

import (
	"sync"
	"time"

	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// stampBudget is how long timestamps are read for in one look. On a disk that is slow and cold the rest is not known then; what was read is kept
// for the next look.
const stampBudget = time.Second

// stamps are timestamps of records that groups have not read, kept from one look to the next: no more than one look asks for.
type stamps struct {
	looking sync.Mutex // held from begin to end
	kept    map[stampKey]int64
	next    map[stampKey]int64 // what this look has asked for
	until   time.Time
}

type stampKey struct {
	id     topic.ID
	index  int32
	offset batch.Offset
}

func (s *stamps) begin(now time.Time) {
	s.looking.Lock()
	s.until = now.Add(stampBudget)
	s.next = make(map[stampKey]int64, len(s.kept))
}

func (s *stamps) end() {
	s.kept, s.next = s.next, nil
	s.looking.Unlock()
}

// of is the timestamp of the first record of p that is not below offset, in ms; false if it is not known.
func (s *stamps) of(p *partition.Partition, offset batch.Offset, now func() time.Time) (ms int64, ok bool) {
	key := stampKey{p.ID().TopicID, p.ID().Index, offset}
	ms, ok = s.next[key]
	if !ok {
		ms, ok = s.kept[key]
	}
	if !ok && now().Before(s.until) {
		ms, ok = readStamp(p, offset)
	}
	if ok {
		s.next[key] = ms
	}
	return ms, ok
}

// readStamp reads the header of the batch that holds offset, and no records: where the producer sets timestamps, it tells that of the batch's
// first record, which may be a little older than the one at offset.
func readStamp(p *partition.Partition, offset batch.Offset) (ms int64, ok bool) {
	found, _, err := p.Read(partition.Fetch{Offset: offset, LeaderEpoch: batch.NoEpoch, MaxBytes: batch.HeaderSize})
	if err != nil {
		return 0, false
	}
	defer found.Release()
	head := make([]byte, batch.HeaderSize)
	if n, _ := found.ReadAt(head, 0); n < len(head) {
		return 0, false
	}
	b, err := batch.HeaderOf(head)
	if err != nil {
		return 0, false
	}
	ms = b.BaseTimestamp()
	if b.IsLogAppendTime() {
		ms = b.MaxTimestamp()
	}
	return ms, ms >= 0
}
