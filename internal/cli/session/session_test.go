package session

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

func TestParsePlace(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		want Place
	}{
		{"start", Place{Kind: AtStart}},
		{"end", Place{Kind: AtEnd}},
		{"12", Place{Kind: AtOffset, Offset: 12}},
		{"-5", Place{Kind: BeforeEnd, Offset: 5}},
		{"@2026-11-29", Place{Kind: AtTime, Time: time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)}},
		{"@2026-11-29T16:50:01.5Z", Place{Kind: AtTime, Time: time.Date(2026, 11, 29, 16, 50, 1, 5e8, time.UTC)}},
		{"@1764435000000", Place{Kind: AtTime, Time: time.UnixMilli(1764435000000)}},
	} {
		got, err := ParsePlace(tt.text)
		if err != nil || got.Kind != tt.want.Kind || got.Offset != tt.want.Offset || !got.Time.Equal(tt.want.Time) {
			t.Errorf("%s: got %+v, %v", tt.text, got, err)
		}
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if got, err := ParseTime("-90m", now); err != nil || !got.Equal(now.Add(-90*time.Minute)) {
		t.Errorf("-90m: got %v, %v", got, err)
	}
	for _, bad := range []string{"", "@", "@x", "1.5", "--1"} {
		if p, err := ParsePlace(bad); err == nil {
			t.Errorf("%q: got %+v", bad, p)
		}
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	tab := NewTable("NAME", "N")
	tab.Row("a-long-name", 1)
	tab.Row("", 22)
	tab.Row("fake\n\x1b[1m", 3)
	tab.Row("na\xffme", 4)
	tab.Row("имя 1", 5)
	var b strings.Builder
	if err := tab.Write(&b); err != nil {
		t.Fatal(err)
	}
	const want = `NAME             N
a-long-name      1
-                22
"fake\n\x1b[1m"  3
"na\xffme"       4
имя 1            5
`
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
		{TopicError("t", kerr.UnknownTopicOrPartition, ""), "topic t: there is no such topic or partition; `ottla topic list` shows what there is, `ottla topic create NAME` makes one"},
		{TopicError("t", kerr.UnknownTopicOrPartition, kerr.UnknownTopicOrPartition.Description), "topic t: there is no such topic or partition; `ottla topic list` shows what there is, `ottla topic create NAME` makes one"},
		{TopicError("t", kerr.InvalidConfig, "x=1: must be 2"), "topic t: x=1: must be 2 (INVALID_CONFIG)"},
		{TopicError("t", kerr.TopicDeletionDisabled, "no"), "topic t: no (TOPIC_DELETION_DISABLED); the broker has delete.topic.enable=false"},
		{fmt.Errorf("x: %w", &net.OpError{Op: "dial", Err: errors.New("refused")}), "no broker at h:1: refused; start one with `ottla start`, or name another with -b HOST:PORT"},
		{
			errors.Join(nil, errors.Join(TopicError("a", kerr.TopicDeletionDisabled, ""), TopicError("b", kerr.UnstableOffsetCommit, ""))),
			"topic a: the broker has delete.topic.enable=false\ntopic b: " + kerr.UnstableOffsetCommit.Error(),
		},
		{TopicError("t", kerr.TopicDeletionDisabled, kerr.TopicDeletionDisabled.Error()), "topic t: the broker has delete.topic.enable=false"},
		{fmt.Errorf("both: %w, %w", errors.New("one"), errors.New("other")), "both: one, other"},
		{&net.DNSError{Name: "h"}, "no broker at h:1: the name h is not known; name another with -b HOST:PORT"},
	} {
		if got := InWords(tt.err, "h:1"); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
	if TopicError("t", nil, "") != nil {
		t.Error("no error became one")
	}
}
