package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"pgregory.net/rapid"
)

func TestFormatter(t *testing.T) {
	t.Parallel()
	r := &kgo.Record{
		Topic: "t", Partition: 3, Offset: 9, Key: []byte("k"), Value: []byte("value"), Timestamp: time.UnixMilli(1234567890123),
		Headers: []kgo.RecordHeader{{Key: "a", Value: []byte("1")}, {Key: "b"}},
	}
	for _, tt := range []struct{ format, want string }{
		{`%t/%p@%o %k=%v\n`, "t/3@9 k=value\n"},
		{`%s %S %V %K`, "value 5 5 1"},
		{`%T|%d`, "1234567890123|1234567890123"},
		{`%T{big8}`, "\x01"}, // rpk's: the length of the topic
		{`%h`, "a=1,b=NULL"},
		{`[%h][%h]`, "[a=1,b=NULL][a=1,b=NULL]"},
		{`%H %h{%k:%v;}`, "2 a:1;b:;"},
		{`100%% %%s\t%v{hex}`, "100% %s\t76616c7565"},
		{`\x41`, "A"},
	} {
		f, err := formatter(tt.format)
		if err != nil {
			t.Errorf("%s: %v", tt.format, err)
			continue
		}
		f(r)
		if got := string(f(r)); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.format, got, tt.want)
		}
	}
	for _, bad := range []string{`%`, `%Q`, `%v{`, `%h{`} {
		if _, err := formatter(bad); err == nil || !errors.As(err, new(usageError)) {
			t.Errorf("%s: got %v, want a usage error", bad, err)
		}
	}
}

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
		line := jsonLine(r)
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

func TestParsePlace(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		want place
	}{
		{"start", place{kind: atStart}},
		{"end", place{kind: atEnd}},
		{"12", place{kind: atOffset, offset: 12}},
		{"-5", place{kind: beforeEnd, offset: 5}},
		{"@2026-11-29", place{kind: atTime, time: time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)}},
		{"@2026-11-29T16:50:01.5Z", place{kind: atTime, time: time.Date(2026, 11, 29, 16, 50, 1, 5e8, time.UTC)}},
		{"@1764435000000", place{kind: atTime, time: time.UnixMilli(1764435000000)}},
	} {
		got, err := parsePlace(tt.text)
		if err != nil || got.kind != tt.want.kind || got.offset != tt.want.offset || !got.time.Equal(tt.want.time) {
			t.Errorf("%s: got %+v, %v", tt.text, got, err)
		}
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if got, err := parseTime("-90m", now); err != nil || !got.Equal(now.Add(-90*time.Minute)) {
		t.Errorf("-90m: got %v, %v", got, err)
	}
	for _, bad := range []string{"", "@", "@x", "1.5", "--1"} {
		if p, err := parsePlace(bad); err == nil {
			t.Errorf("%q: got %+v", bad, p)
		}
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	tab := newTable("NAME", "N")
	tab.row("a-long-name", 1)
	tab.row("", 22)
	var b strings.Builder
	if err := tab.write(&b); err != nil {
		t.Fatal(err)
	}
	const want = "NAME         N\na-long-name  1\n-            22\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestInWords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		want string
	}{
		{errors.New("plain"), "plain"},
		{topicError("t", kerr.UnknownTopicOrPartition, ""), "topic t: there is no such topic or partition; `ottla topic list` shows what there is, `ottla topic create NAME` makes one"},
		{topicError("t", kerr.UnknownTopicOrPartition, kerr.UnknownTopicOrPartition.Description), "topic t: there is no such topic or partition; `ottla topic list` shows what there is, `ottla topic create NAME` makes one"},
		{topicError("t", kerr.InvalidConfig, "x=1: must be 2"), "topic t: x=1: must be 2 (INVALID_CONFIG)"},
		{topicError("t", kerr.TopicDeletionDisabled, "no"), "topic t: no (TOPIC_DELETION_DISABLED); the broker has delete.topic.enable=false"},
		{fmt.Errorf("x: %w", &net.OpError{Op: "dial", Err: errors.New("refused")}), "no broker at h:1: refused; start one with `ottla start`, or name another with -b HOST:PORT"},
		{&net.DNSError{Name: "h"}, "no broker at h:1: the name h is not known; name another with -b HOST:PORT"},
	} {
		if got := inWords(tt.err, "h:1"); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
	if topicError("t", nil, "") != nil {
		t.Error("no error became one")
	}
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
