package crash

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	topic      = "ledger"
	partitions = 16
	producers  = 3
	committers = 3
	burst      = 10 // records a producer sends at once
)

type place struct {
	partition int32
	offset    int64
}

// ledger remembers every acknowledged record and where it is.
type ledger struct {
	mu struct {
		sync.Mutex
		acked map[string]place
	}
}

func newLedger() *ledger {
	l := new(ledger)
	l.mu.acked = make(map[string]place)
	return l
}

func (l *ledger) add(value string, at place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.acked[value] = at
}

func (l *ledger) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.mu.acked)
}

// produce sends numbered records with acks=all from an idempotent producer until ctx ends; it lives across the broker's
// deaths, so its retries must be recognised.
func (l *ledger) produce(ctx context.Context, t *testing.T, addr string, name int) {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(addr), kgo.DefaultProduceTopic(topic), kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.RecordPartitioner(kgo.RoundRobinPartitioner()), kgo.ProducerLinger(time.Millisecond),
		kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }), kgo.MaxBufferedRecords(500),
		kgo.MetadataMinAge(50*time.Millisecond), kgo.UnknownTopicRetries(-1),
	)
	if err != nil {
		t.Error(err)
		return
	}
	defer client.Close()
	filler := strings.Repeat("x", 200)
	tick := time.NewTicker(5 * time.Millisecond) // so that what must be read again after each crash stays small
	defer tick.Stop()
	for n := 0; ctx.Err() == nil; n++ {
		if n%burst == 0 {
			<-tick.C
		}
		value := fmt.Sprintf("%d %d %s", name, n, filler)
		client.Produce(ctx, &kgo.Record{Value: []byte(value)}, func(r *kgo.Record, err error) {
			if err == nil {
				l.add(string(r.Value), place{r.Partition, r.Offset})
			} else if ctx.Err() == nil {
				t.Errorf("producer %d, record %d: %v", name, n, err)
			}
		})
	}
}

// check reads all partitions to their ends and compares.
func (l *ledger) check(t *testing.T, addr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	l.mu.Lock() // what is acknowledged from now on is the next check's
	want := maps.Clone(l.mu.acked)
	l.mu.Unlock()
	found, err := readAll(ctx, addr)
	if err != nil {
		t.Fatal(err)
	}
	lost := 0
	for value, at := range want {
		if got, ok := found[value]; !ok || got != at {
			if lost++; lost <= 5 {
				t.Errorf("acknowledged %.20q at %v; found %v (there: %v)", value, at, got, ok)
			}
		}
	}
	if lost > 0 {
		t.Fatalf("%d of %d acknowledged records are lost or moved", lost, len(want))
	}
}

// readAll reads every record below the ends the partitions have now; it fails on a record that is there twice, or behind a later one of its
// producer.
func readAll(ctx context.Context, addr string) (map[string]place, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ends, err := kadm.NewClient(client).ListEndOffsets(ctx, topic)
	if err != nil {
		return nil, err
	}
	left := 0
	ends.Each(func(o kadm.ListedOffset) {
		if o.Err != nil {
			err = o.Err
		}
		if o.Offset > 0 {
			left++
		}
	})
	if err != nil {
		return nil, err
	}
	found := make(map[string]place)
	last := make(map[string]int)
	for left > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return nil, err
		}
		for iter := fetches.RecordIter(); !iter.Done(); {
			r := iter.Next()
			if err := note(found, last, r); err != nil {
				return nil, err
			}
			if end, _ := ends.Lookup(topic, r.Partition); r.Offset == end.Offset-1 {
				left--
			}
		}
	}
	return found, nil
}

func note(found map[string]place, last map[string]int, r *kgo.Record) error {
	value := string(r.Value)
	at := place{r.Partition, r.Offset}
	if before, ok := found[value]; ok {
		return fmt.Errorf("%.20q is at %v and at %v", value, before, at)
	}
	found[value] = at
	words := strings.Fields(value)
	n, err := strconv.Atoi(words[1])
	if err != nil {
		return fmt.Errorf("record at %v is damaged: %.40q", at, value)
	}
	stream := fmt.Sprintf("%s/%d", words[0], r.Partition)
	if before, ok := last[stream]; ok && n < before {
		return fmt.Errorf("record %d of producer %s at %v stands behind record %d", n, words[0], at, before)
	}
	last[stream] = n
	return nil
}
