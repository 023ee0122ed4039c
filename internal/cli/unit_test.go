package cli

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"pgregory.net/rapid"

	"github.com/ottla-io/ottla/internal/cli/session"
)

// TestJSONRoundTrip: what consume --json writes of a record, produce --json reads back, whatever its bytes.
func TestJSONRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		optional := func(name string) []byte {
			if rapid.Bool().Draw(t, name+" is null") {
				return nil
			}
			return rapid.OneOf(rapid.SliceOf(rapid.Byte()), rapid.Map(rapid.String(), func(s string) []byte { return []byte(s) })).Draw(t, name)
		}
		r := &kgo.Record{Topic: "t", Key: optional("key"), Value: optional("value"), Timestamp: time.UnixMilli(rapid.Int64Range(0, 1<<41).Draw(t, "ms"))}
		for range rapid.IntRange(0, 3).Draw(t, "headers") {
			r.Headers = append(r.Headers, kgo.RecordHeader{Key: rapid.StringMatching(`[a-z]*`).Draw(t, "name"), Value: optional("header")})
		}
		line := session.JSONLine(r)
		if bytes.Count(line, []byte("\n")) != 1 {
			t.Fatalf("not one line: %q", line)
		}
		got, err := parseJSON("t", line, nil, -1)
		if err != nil {
			t.Fatal(err)
		}
		same := func(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }
		if !same(got.Key, r.Key) || !same(got.Value, r.Value) || !got.Timestamp.Equal(r.Timestamp) || len(got.Headers) != len(r.Headers) {
			t.Fatalf("%s\nis read as %+v", line, got)
		}
		for i, h := range r.Headers {
			if got.Headers[i].Key != h.Key || !same(got.Headers[i].Value, h.Value) {
				t.Fatalf("header %d: %+v", i, got.Headers[i])
			}
		}
	})
}

func TestHistogram(t *testing.T) {
	t.Parallel()
	var h histogram
	if h.percentile(0.5) != 0 {
		t.Error("an empty histogram has a median")
	}
	for ms := 1; ms <= 1000; ms++ {
		h.add(time.Duration(ms) * time.Millisecond)
	}
	for p, want := range map[float64]time.Duration{0.5: 500 * time.Millisecond, 0.99: 990 * time.Millisecond, 1: time.Second} {
		if got := h.percentile(p); got < want || got > want*103/100 {
			t.Errorf("percentile %v: got %v, want %v and at most 3 %% more", p, got, want)
		}
	}
}

func TestReachable(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{"0.0.0.0:1": "127.0.0.1:1", "[::]:2": "127.0.0.1:2", "10.0.0.1:3": "10.0.0.1:3"} {
		if got := reachable(addr); got != want {
			t.Errorf("%s: got %s", addr, got)
		}
	}
}

// TestFollow reads a file that grows, is cut, and is replaced.
func TestFollow(t *testing.T) {
	t.Parallel()
	name := t.TempDir() + "/log"
	write := func(text string, flag int) {
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|flag, 0o644)
		if err == nil {
			_, err = f.WriteString(text)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write("one\n", 0)
	f, err := followFile(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	expect := func(want string) {
		t.Helper()
		got := make([]byte, len(want))
		if _, err := io.ReadFull(f, got); err != nil || string(got) != want {
			t.Fatalf("got %q, %v, want %q", got, err, want)
		}
	}
	expect("one\n")
	write("two\n", os.O_APPEND)
	expect("two\n")
	write("x\n", os.O_TRUNC)
	expect("x\n")
	if err := os.Rename(name, name+".1"); err != nil {
		t.Fatal(err)
	}
	write("new\n", 0)
	expect("new\n")
}
