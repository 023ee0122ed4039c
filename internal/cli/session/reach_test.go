package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

var errRefused = fmt.Errorf("unable to dial: %w", &net.OpError{Op: "dial", Err: errors.New("connection refused")})

// TestTell: what is said of a broker that goes and comes back, and of nothing else.
func TestTell(t *testing.T) {
	t.Parallel()
	r := newReach([]string{"127.0.0.1"})
	var out strings.Builder
	node := kgo.BrokerMetadata{NodeID: 1, Host: "127.0.0.1", Port: 9092}
	for _, err := range []error{nil, errRefused, errRefused, context.Canceled, nil, nil} {
		r.OnBrokerConnect(node, 0, nil, err)
		r.Tell(&out)
	}
	want := "... no broker at 127.0.0.1:9092: connection refused; trying again (Ctrl-C ends)\n... connected to 127.0.0.1:9092 again\n"
	if out.String() != want {
		t.Errorf("said %q; want %q", out.String(), want)
	}
}

// timeout is a network's error of a wait that was too long.
type timeout struct{ error }

func (timeout) Timeout() bool   { return true }
func (timeout) Temporary() bool { return true }

// TestTrouble: which address a command waits for, and where it comes from.
func TestTrouble(t *testing.T) {
	t.Parallel()
	seed := kgo.BrokerMetadata{NodeID: -1, Host: "seed", Port: 1}
	other := kgo.BrokerMetadata{NodeID: -2, Host: "other", Port: 1}
	node := kgo.BrokerMetadata{NodeID: 7, Host: "broker.example", Port: 9092}
	const advertised = "broker.example:9092, the address that broker 7 advertises (advertised.listeners)"
	conn, far := net.Pipe()
	t.Cleanup(func() { _, _ = conn.Close(), far.Close() })
	for _, tt := range []struct {
		name string
		do   func(r *Reach)
		want string
	}{
		{"nothing", func(*Reach) {}, ""},
		{"all is well", func(r *Reach) { r.OnBrokerConnect(seed, 0, nil, nil) }, ""},
		{"a seed", func(r *Reach) { r.OnBrokerConnect(seed, 0, nil, errRefused) }, "no connection to seed:1: connection refused"},
		{"one of two seeds", func(r *Reach) {
			r.OnBrokerConnect(seed, 0, nil, errRefused)
			r.OnBrokerConnect(other, 0, nil, nil)
		}, ""},
		{"an advertised address", func(r *Reach) {
			r.OnBrokerConnect(node, 0, nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "broker.example"}})
			r.OnBrokerConnect(seed, 0, nil, errRefused)
		}, "no connection to " + advertised + ": lookup broker.example: no such host"},
		{"it is back", func(r *Reach) {
			r.OnBrokerConnect(node, 0, nil, errRefused)
			r.OnBrokerConnect(node, 0, nil, nil)
		}, ""},
		{"silent from the first", func(r *Reach) { r.OnBrokerConnect(node, 0, conn, timeout{io.EOF}) }, "no connection to " + advertised + ": " + errSilent.Error()},
		{"it owes an answer", func(r *Reach) {
			r.OnBrokerConnect(node, 0, nil, nil)
			r.OnBrokerWrite(node, 0, 1, 0, 0, nil)
		}, "no answer yet from " + advertised},
		{"it has answered", func(r *Reach) {
			r.OnBrokerWrite(node, 0, 1, 0, 0, nil)
			r.OnBrokerRead(node, 0, 1, 0, 0, nil)
		}, ""},
		{"it holds a fetch", func(r *Reach) { r.OnBrokerWrite(node, 1, 1, 0, 0, nil) }, ""},
		{"a closed connection owes none", func(r *Reach) {
			r.OnBrokerWrite(node, 0, 1, 0, 0, nil)
			r.OnBrokerDisconnect(node, nil)
		}, ""},
		{"connecting", func(r *Reach) {
			r.note("broker.example:9092", func(p *peer) { p.node = 7; p.dials++ })
		}, "no connection yet to " + advertised},
	} {
		r := newReach([]string{"seed:1", "other:1"})
		tt.do(r)
		got := ""
		if p := r.trouble(); p != nil {
			got = r.describe(p)
		}
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestExplain: an address that a broker advertises stands for what went wrong on the way to it, and for nothing that a broker answered.
func TestExplain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err     error
		node    string
		explain bool
	}{
		{context.DeadlineExceeded, "broker.example", true},
		{errRefused, "broker.example", true},
		{fmt.Errorf("wrapped: %w", io.EOF), "broker.example", true},
		{context.DeadlineExceeded, "seed", false},
		{kerr.UnknownTopicOrPartition, "broker.example", false},
		{errors.New("no such partition"), "broker.example", false},
		{Usagef("-p 0"), "broker.example", false},
		{context.Canceled, "broker.example", false},
	} {
		s := &Session{ErrOut: new(bytes.Buffer), Brokers: "seed:1"}
		s.Reach().OnBrokerConnect(kgo.BrokerMetadata{NodeID: 7, Host: tt.node, Port: 1}, 0, nil, errRefused)
		got := s.Explain(t.Context(), tt.err)
		if !errors.Is(got, tt.err) || errors.As(got, new(*UnreachedError)) != tt.explain {
			t.Errorf("%v at %s: got %v", tt.err, tt.node, got)
		}
	}
}
