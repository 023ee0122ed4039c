package group

import (
	"fmt"
	"testing"
	"time"

	"github.com/ottla-io/ottla/internal/coordinator/record"
	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// BenchmarkConsumerHeartbeat is the heartbeat of one of 10,000 groups of one member.
func BenchmarkConsumerHeartbeat(b *testing.B) {
	m := New(newScript(nil).opts)
	now, offset := scriptEpoch, batch.Offset(0)
	step := func(in Input) Effects {
		e := m.Step(now, in)
		for _, r := range e.Records {
			if err := m.Apply(offset, now.UnixMilli(), r.Key, r.Value); err != nil {
				b.Fatal(err)
			}
			offset++
		}
		return e
	}
	step(NewImage{Image: newScript(nil).image})
	step(Loaded{})
	var ins []ConsumerHeartbeat
	for i := range 10_000 {
		in := ConsumerHeartbeat{
			Caller: Caller{ClientID: "c", Host: "/127.0.0.1"}, Group: fmt.Sprint("g", i), Member: fmt.Sprint("m", i),
			RebalanceTimeout: time.Minute, Topics: []string{"orders"}, Owned: []record.TopicPartitions{}, Version: 1,
		}
		step(in)
		in.Epoch, in.RebalanceTimeout, in.Topics, in.Owned = 1, -1, nil, nil
		ins = append(ins, in)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		now = now.Add(time.Millisecond)
		if e := step(ins[i%len(ins)]); e.Replies[0].Result.(ConsumerHeartbeatResult).Err != nil {
			b.Fatal(e.Replies[0].Result)
		}
	}
}
