package consume

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla"
	"github.com/ottla-io/ottla/internal/cli/session"
)

// TestIdle: a consumer that hears nothing asks the broker, and passes neither a record nor the log's end.
func TestIdle(t *testing.T) {
	t.Parallel()
	s, err := ottla.Start(t.Context(), ottla.Options{Memory: true, Listen: "127.0.0.1:0", Admin: "off"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	a := &commands{&session.Session{Out: io.Discard, ErrOut: io.Discard, Brokers: s.Addr(), Timeout: 10 * time.Second}}
	client, err := a.Client(t.Context(), kgo.AllowAutoTopicCreation(), kgo.DefaultProduceTopic("t"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.ProduceSync(t.Context(), kgo.StringRecord("a"), kgo.StringRecord("b")).FirstErr(); err != nil {
		t.Fatal(err)
	}
	c := &consumption{commands: a, client: client, left: 2, topics: newRenewal(nil, false), began: time.Now(), where: limits{"t": {0: {from: 1, to: 5}}}}
	for next, want := range map[int64]int64{0: 0, 1: 1, 2: 2} {
		if got, err := passEmpty(t.Context(), client, "t", 0, next); err != nil || got != want {
			t.Errorf("from %d: got %d, %v", next, got, err)
		}
	}
	if _, err := passEmpty(t.Context(), client, "t", 0, 99); err == nil {
		t.Error("an offset after the end is passed")
	}
	if err := c.idle(t.Context()); err != nil || c.left != 2 || !c.waits {
		t.Errorf("idle: %v, %d left", err, c.left)
	}
	c.where["t"][0] = limit{2, 2}
	if err := c.idle(t.Context()); err != nil || c.left != 1 {
		t.Errorf("idle at the limit: %v, %d left", err, c.left)
	}
}

// TestNeverBegun: a consumer that never got an answer gives up after --timeout, and one that did waits.
func TestNeverBegun(t *testing.T) {
	t.Parallel()
	node := kgo.BrokerMetadata{NodeID: 1, Host: "broker.example", Port: 9092}
	for _, begun := range []bool{false, true} {
		s := &session.Session{Out: io.Discard, ErrOut: io.Discard, Brokers: "h:1", Timeout: time.Minute}
		s.Reach().OnBrokerConnect(node, 0, nil, errors.New("refused"))
		if begun {
			s.Reach().OnBrokerRead(node, kmsg.Fetch.Int16(), 1, 0, 0, nil)
		}
		c := &consumption{commands: &commands{s}, topics: newRenewal(nil, false), began: time.Now().Add(-time.Hour)}
		if err := c.idle(t.Context()); errors.As(err, new(*session.UnreachedError)) == begun {
			t.Errorf("begun %v: %v", begun, err)
		}
		g := &groupConsumption{commands: &commands{s}, topics: newRenewal(nil, false), began: time.Now().Add(-time.Hour)}
		if _, err := g.idle(t.Context()); errors.As(err, new(*session.UnreachedError)) == begun {
			t.Errorf("a member, begun %v: %v", begun, err)
		}
	}
}

// TestGroupFails: what is told of a group's session that ended, what is not, and what ends the command.
func TestGroupFails(t *testing.T) {
	t.Parallel()
	refused := fmt.Errorf("unable to dial: %w", &net.OpError{Op: "dial", Err: errors.New("connection refused")})
	var out strings.Builder
	c := &groupConsumption{commands: &commands{&session.Session{ErrOut: &out, Brokers: "h:1"}}, flags: consumeFlags{group: groupFlags{name: "g"}}}
	c.Reach().OnBrokerConnect(kgo.BrokerMetadata{Host: "h", Port: 1}, 0, nil, refused)
	for _, err := range []error{refused, refused, kerr.RebalanceInProgress, kerr.UnknownMemberID} {
		if err := c.failed(kgo.FetchError{Err: &kgo.ErrGroupSession{Err: err}}); err != nil {
			t.Error(err)
		}
	}
	want := "... no broker at h:1: connection refused; trying again (Ctrl-C ends)\n... the group's session ended: " +
		session.InWords(kerr.UnknownMemberID, "") + "; trying again\n"
	if out.String() != want {
		t.Errorf("said %q; want %q", out.String(), want)
	}
	if err := c.failed(kgo.FetchError{Err: &kgo.ErrGroupSession{Err: kerr.GroupMaxSizeReached}}); !errors.Is(err, kerr.GroupMaxSizeReached) {
		t.Errorf("a full group: %v", err)
	}
}
