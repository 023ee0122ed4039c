package api

import (
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/wire"
	"github.com/ottla-io/ottla/internal/storage/log"
)

// encode appends the response to out, with the ranges that were read. A range that cannot be read turns into an error of its
// partition as long as nothing was sent, so the response is put together again without it.
func (r *fetchReply) encode(now time.Time, out *Out) {
	id := r.settle(now)
	mark := out.mark()
	for {
		r.respond(id)
		bad, err := r.splice(out)
		if err == nil {
			return
		}
		out.back(mark)
		r.api.faults.Error("fetch failed", slog.String("topic", bad.name), slog.Any("topic_id", bad.id), slog.Any("partition", bad.index), slog.Any("err", err))
		bad.fail(fmt.Errorf("%w: %w", kerr.KafkaStorageError, err))
		if r.session != nil {
			r.session.tell(bad)
		}
	}
}

// settle brings the session up to what the response says, or makes one if that was asked for, and returns its id.
func (r *fetchReply) settle(now time.Time) int32 {
	switch {
	case r.session != nil:
		r.session.told(r.parts)
		return r.session.id
	case r.create && r.err == nil && len(r.parts) > 0:
		return r.api.sessions.create(now, r.header.Version >= 13, r.parts)
	}
	return 0
}

// respond fills in the response.
func (r *fetchReply) respond(session int32) {
	r.resp.Reset()
	r.resp.ErrorCode = r.api.faultOf(r.header, r.conn, r.err)
	r.resp.SessionID = session
	var last *fetchPart
	var rt *wire.FetchTopic
	for i := range r.parts {
		p := &r.parts[i]
		if p.omit {
			continue
		}
		if last == nil || last.name != p.name || last.id != p.id {
			rt = r.resp.AddTopic(p.name, p.id)
		}
		last = p
		r.respondPart(rt.AddPartition(p.index), p)
	}
}

// respondPart fills in one partition.
func (r *fetchReply) respondPart(rp *wire.FetchPartition, p *fetchPart) {
	rp.HighWatermark, rp.LastStable, rp.LogStart = p.marks.HighWatermark, p.marks.LastStable, p.marks.Start
	rp.RecordsSize = p.data.Len()
	// An empty list and null mean the same. Kafka has the list where no log was asked, and where it was read for read_committed.
	rp.ListsAborted = isMissing(p.refused) || p.err == nil && !p.diverges && r.isolation == partition.ReadCommitted
	if p.diverges {
		rp.Diverging = p.diverged
	}
	if p.err == nil {
		return
	}
	rp.ErrorCode = r.api.faultOf(r.header, r.conn, p.err)
	if r.header.Version < 16 || rp.ErrorCode != kerr.NotLeaderForPartition.Code && rp.ErrorCode != kerr.FencedLeaderEpoch.Code {
		return
	}
	if leader, node, ok := r.api.leader(r.conn, p.name, p.id, p.index); ok {
		rp.Leader = leader
		r.resp.Nodes = addNode(r.resp.Nodes, node)
	}
}

// splice appends the encoded response with the records where they belong: large ranges as ranges, small ones read into the bytes.
// It returns the part whose range could not be read; out holds rubbish then.
func (r *fetchReply) splice(out *Out) (*fetchPart, error) {
	var cuts []wire.Cut
	r.scratch, cuts = r.resp.AppendTo(r.scratch[:0], r.header)
	from, next := 0, 0
	for _, cut := range cuts {
		out.Bytes = append(out.Bytes, r.scratch[from:cut.At]...)
		from = cut.At
		for r.parts[next].omit || r.parts[next].data.Len() == 0 {
			next++
		}
		p := &r.parts[next]
		next++
		if cut.Size >= sendfileMin {
			p.sent, _ = p.data.Next()
			out.Range(p.data)
			continue
		}
		n := len(out.Bytes)
		out.Bytes = slices.Grow(out.Bytes, cut.Size)[:n+cut.Size]
		if _, err := p.data.ReadAt(out.Bytes[n:], 0); err != nil {
			return p, err
		}
		p.sent = afterLast(out.Bytes[n:])
	}
	out.Bytes = append(out.Bytes, r.scratch[from:]...)
	r.hand()
	return nil, nil
}

// afterLast is the offset after the last whole batch in records, 0 if there is none.
func afterLast(records []byte) (next batch.Offset) {
	for len(records) > 0 {
		b, rest, err := batch.Next(records)
		if err != nil {
			break // cut by a limit
		}
		next, records = b.NextOffset(), rest
	}
	return next
}

// hand leaves the large ranges to the Out that has them now.
func (r *fetchReply) hand() {
	for i := range r.parts {
		p := &r.parts[i]
		if n := p.data.Len(); n > 0 && !p.omit {
			r.api.opts.Observer.Fetched(p.partition.ID().Topic, max(int(p.sent-p.wish.offset), 0), n)
		}
		if p.data.Len() >= sendfileMin {
			p.data = log.Range{}
		}
	}
}
