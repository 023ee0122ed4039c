package compact

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

const (
	clean     = 1_000_000 // ms
	retention = 1_000
)

// data makes a batch at base with a record for each of keys; one that begins with "-" is a tombstone, "" has no key.
func data(t testing.TB, base batch.Offset, change func(*batch.Fields), keys ...string) batch.Batch {
	t.Helper()
	f := batch.NewFields(base)
	f.LeaderEpoch = 3
	if change != nil {
		change(&f)
	}
	var w batch.Builder
	w.Reset(f)
	for i, key := range keys {
		r := batch.Record{Offset: base + batch.Offset(i), Timestamp: clean - 500 + int64(i), Value: []byte("v")}
		if k, dead := strings.CutPrefix(key, "-"); dead {
			r.Key, r.Value = []byte(k), nil
		} else if key != "" {
			r.Key = []byte(key)
		}
		w.Append(r)
	}
	b, err := w.Build()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func marker(t testing.TB, base batch.Offset, producer int64, typ batch.ControlType) batch.Batch {
	t.Helper()
	b, err := batch.Marker{Type: typ}.Batch(producer, 0, clean)
	if err != nil {
		t.Fatal(err)
	}
	b.SetBaseOffset(base)
	return b
}

func txn(producer int64) func(*batch.Fields) {
	return func(f *batch.Fields) {
		f.ProducerID, f.ProducerEpoch, f.BaseSequence, f.Transactional = producer, 0, 0, true
	}
}

// passOver runs a whole pass over batches, all dirty, and returns what stays.
func passOver(t testing.TB, now int64, end batch.Offset, newest func(batch.Batch) bool, batches ...batch.Batch) []batch.Batch {
	t.Helper()
	txns, keys := NewTransactions(), NewKeyMap(1<<20, 0.9, 1000)
	for _, b := range batches {
		if !b.IsControl() {
			txns.Data(b)
		} else if err := txns.Control(b); err != nil {
			t.Fatal(err)
		}
	}
	for _, b := range batches {
		if b.IsControl() || txns.Aborted(b) {
			continue
		}
		for r := range b.All(Limit()) {
			if r.Key != nil && r.Offset < end {
				keys.Put(r.Key, r.Offset)
			}
		}
	}
	f := NewFilter(Rules{Now: now, DeleteRetention: retention, End: end, Newest: newest}, keys, txns)
	var out []batch.Batch
	for _, b := range batches {
		kept, err := f.Batch(b, false)
		if err != nil {
			t.Fatal(err)
		}
		if kept != nil {
			if err := kept.CheckCRC(); err != nil {
				t.Fatal(err)
			}
			out = append(out, bytes.Clone(kept))
		}
	}
	return out
}

// offsets lists the batches as [base last] records.
func offsets(batches []batch.Batch) string {
	var all []string
	for _, b := range batches {
		var text strings.Builder
		fmt.Fprintf(&text, "[%d %d]", b.BaseOffset(), b.LastOffset())
		for r := range b.All(Limit()) {
			fmt.Fprintf(&text, " %d", r.Offset)
		}
		all = append(all, text.String())
	}
	return strings.Join(all, ", ")
}

func TestFilterKeeps(t *testing.T) {
	t.Parallel()
	const abort, commit = batch.ControlAbort, batch.ControlCommit
	for _, tt := range []struct {
		name    string
		end     batch.Offset
		batches []batch.Batch
		want    string
	}{
		{"the last of each key", 9, []batch.Batch{data(t, 0, nil, "a", "b", "a"), data(t, 3, nil, "b")}, "[0 2] 2, [3 3] 3"},
		{"no batch that is empty", 9, []batch.Batch{data(t, 0, nil, "a"), data(t, 1, nil, "a")}, "[1 1] 1"},
		{"all above the end", 2, []batch.Batch{data(t, 0, nil, "a", "a", "a"), data(t, 3, nil, "a")}, "[0 2] 1 2, [3 3] 3"},
		{"no record without a key", 9, []batch.Batch{data(t, 0, nil, "", "a")}, "[0 1] 1"},
		{"a fresh tombstone", 9, []batch.Batch{data(t, 0, nil, "a"), data(t, 1, nil, "-a")}, "[1 1] 1"},
		{"an offset far above", 1 << 40, []batch.Batch{data(t, 1<<39, nil, "a")}, "[549755813888 549755813888] 549755813888"},
		{"a committed transaction and its marker", 9, []batch.Batch{data(t, 0, txn(1), "a"), marker(t, 1, 1, commit)}, "[0 0] 0, [1 1] 1"},
		{"no aborted data, but its marker once more", 9, []batch.Batch{data(t, 0, txn(1), "a"), marker(t, 1, 1, abort)}, "[1 1] 1"},
		{
			"what an aborted transaction would replace", 9,
			[]batch.Batch{data(t, 0, nil, "a"), data(t, 1, txn(1), "a"), marker(t, 2, 1, abort)},
			"[0 0] 0, [2 2] 2",
		},
		{"transactions of one producer apart", 9, []batch.Batch{
			data(t, 0, txn(1), "a"), marker(t, 1, 1, abort),
			data(t, 2, txn(1), "b"), marker(t, 3, 1, commit),
		}, "[1 1] 1, [2 2] 2, [3 3] 3"},
		{"transactions of two producers apart", 9, []batch.Batch{
			data(t, 0, txn(1), "a"), data(t, 1, txn(2), "a"), marker(t, 2, 1, abort),
			marker(t, 3, 2, commit),
		}, "[1 1] 1, [2 2] 2, [3 3] 3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := offsets(passOver(t, clean, tt.end, nil, tt.batches...)); got != tt.want {
				t.Errorf("%s, expected %s", got, tt.want)
			}
		})
	}
}

func TestFilterTombstones(t *testing.T) {
	t.Parallel()
	for _, codec := range []batch.Codec{batch.CodecNone, batch.CodecGzip, batch.CodecSnappy, batch.CodecLZ4, batch.CodecZstd} {
		in := data(t, 0, func(f *batch.Fields) { f.Codec = codec }, "a", "-b")
		marked := passOver(t, clean, 9, nil, in)[0]
		if horizon, ok := marked.DeleteHorizon(); !ok || horizon != clean+retention || marked.Codec() != codec || marked.LeaderEpoch() != 3 {
			t.Errorf("%v: horizon %d, %v; codec %v, epoch %d", codec, horizon, ok, marked.Codec(), marked.LeaderEpoch())
		}
		for r := range marked.All(Limit()) {
			if r.Timestamp != clean-500+int64(r.Offset) {
				t.Errorf("%v: timestamp of %d is %d", codec, r.Offset, r.Timestamp)
			}
		}
		later := passOver(t, clean+retention-1, 9, nil, marked)
		if len(later) != 1 || !bytes.Equal(later[0], marked) {
			t.Errorf("%v: before its horizon it became %s", codec, offsets(later))
		}
		later = passOver(t, clean+retention, 9, nil, marked)
		if got := offsets(later); got != "[0 1] 0" {
			t.Errorf("%v: at its horizon it became %s", codec, got)
		}
	}
	split := passOver(t, clean, 1, nil, data(t, 0, nil, "-a", "-b"))
	if split[0].HasDeleteHorizon() {
		t.Error("a tombstone that was not compacted yet has a horizon")
	}
}

func TestFilterMarkers(t *testing.T) {
	t.Parallel()
	for _, typ := range []batch.ControlType{batch.ControlAbort, batch.ControlCommit} {
		m := marker(t, 5, 1, typ)
		marked := passOver(t, clean, 9, nil, m)
		if horizon, ok := marked[0].DeleteHorizon(); !ok || horizon != clean+retention || !marked[0].IsControl() || !marked[0].IsTransactional() {
			t.Errorf("%v: an emptied transaction's marker has horizon %d, %v", typ, horizon, ok)
		}
		if left := passOver(t, clean+retention, 9, nil, marked[0]); len(left) != 0 {
			t.Errorf("%v: after its horizon it became %s", typ, offsets(left))
		}
		all := func(batch.Batch) bool { return true }
		if left := passOver(t, clean+retention, 9, all, marked[0]); offsets(left) != "[5 5]" || !left[0].IsControl() {
			t.Errorf("%v: its producer's newest became %s", typ, offsets(left))
		}
	}
}

func TestFilterKeepsTheSequence(t *testing.T) {
	t.Parallel()
	b := data(t, 7, func(f *batch.Fields) {
		f.ProducerID, f.ProducerEpoch, f.BaseSequence, f.Codec = 4, 2, 90, batch.CodecZstd
	}, "a", "a")
	newest := func(h batch.Batch) bool { return h.ProducerID() == 4 }
	out := passOver(t, clean, 99, newest, b, data(t, 9, nil, "a"))
	e := out[0]
	if e.Count() != 0 || e.BaseOffset() != 7 || e.LastOffset() != 8 || e.ProducerID() != 4 || e.ProducerEpoch() != 2 ||
		e.LastSequence() != 91 || e.LeaderEpoch() != 3 || e.MaxTimestamp() != b.MaxTimestamp() || len(e) != batch.HeaderSize {
		t.Errorf("the emptied batch is %v", e)
	}
	if again := passOver(t, clean, 99, newest, out...); !bytes.Equal(again[0], e) {
		t.Errorf("it became %v", again[0])
	}
}

func TestFilterRefusesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	b := bytes.Clone(data(t, 0, nil, "a", "b"))
	b[batch.HeaderSize] = 0xff
	f := NewFilter(Rules{End: 9}, NewKeyMap(0, 0, 0), NewTransactions())
	if _, err := f.Batch(b, false); err == nil || !strings.Contains(err.Error(), "offset 0") {
		t.Errorf("got %v", err)
	}
}

func TestFirstOpen(t *testing.T) {
	t.Parallel()
	txns := NewTransactions()
	want := func(offset batch.Offset, open bool) {
		t.Helper()
		if got, ok := txns.FirstOpen(); got != offset || ok != open {
			t.Errorf("first open is %d, %v; expected %d, %v", got, ok, offset, open)
		}
	}
	end := func(at batch.Offset, producer int64) {
		t.Helper()
		if err := txns.Control(marker(t, at, producer, batch.ControlCommit)); err != nil {
			t.Fatal(err)
		}
	}
	want(0, false)
	txns.Data(data(t, 0, txn(1), "a"))
	txns.Data(data(t, 1, txn(2), "a"))
	txns.Data(data(t, 2, txn(1), "a"))
	want(0, true)
	end(3, 2)
	want(0, true)
	txns.Data(data(t, 4, txn(2), "a"))
	end(5, 1)
	want(4, true)
	end(6, 2)
	want(0, false)
	end(7, 9)
	want(0, false)
}
