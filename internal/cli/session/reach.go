package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Reach follows how the clients of a command get on with their brokers, so that the command can say what it waits for. The client itself
// tries again in silence. Its methods may be called by any goroutine.
type Reach struct {
	seeds []string // HOST:PORT
	mu    struct {
		sync.Mutex
		peers map[string]*peer // by HOST:PORT
		told  string           // the peer that Tell has reported
		begun bool             // a broker has answered a fetch
	}
}

// peer is an address that the clients use.
type peer struct {
	addr    string
	node    int32 // the broker's id; negative while it is only an address
	dials   int   // under way
	err     error // of the last connection; nil if it was made
	asked   int   // requests without an answer
	changed time.Time
}

// newReach returns a Reach for clients that begin at seeds.
func newReach(seeds []string) *Reach {
	r := &Reach{}
	for _, seed := range seeds {
		if _, _, err := net.SplitHostPort(seed); err != nil {
			seed = net.JoinHostPort(strings.Trim(seed, "[]"), "9092") // as the client does
		}
		r.seeds = append(r.seeds, seed)
	}
	r.mu.peers = make(map[string]*peer)
	return r
}

// dialTime bounds one attempt to connect.
const dialTime = 5 * time.Second

// dial connects for a client, and notes the attempt while it lasts.
func (r *Reach) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	r.note(addr, func(p *peer) { p.dials++ })
	conn, err := (&net.Dialer{Timeout: dialTime}).DialContext(ctx, network, addr)
	r.note(addr, func(p *peer) { p.dials-- })
	return conn, err
}

func (r *Reach) note(addr string, change func(*peer)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.mu.peers[addr]
	if p == nil {
		p = &peer{addr: addr, node: -1}
		r.mu.peers[addr] = p
	}
	change(p)
	p.changed = time.Now()
}

func addrOf(meta kgo.BrokerMetadata) string {
	return net.JoinHostPort(meta.Host, strconv.Itoa(int(meta.Port)))
}

// OnBrokerConnect implements kgo.HookBrokerConnect. The client calls it once the connection has answered its first request.
func (r *Reach) OnBrokerConnect(meta kgo.BrokerMetadata, _ time.Duration, conn net.Conn, err error) {
	if errors.Is(err, context.Canceled) {
		return // the command gave up, which says nothing about the broker
	}
	var late net.Error
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	if conn != nil && errors.As(err, &late) && late.Timeout() {
		err = errSilent
	}
	r.note(addrOf(meta), func(p *peer) { p.node, p.err = max(p.node, meta.NodeID), err })
	if err == nil {
		r.forgiveSeeds()
	}
}

// errSilent is the failure of a peer that takes connections and answers nothing.
var errSilent = errors.New("it accepts and does not answer")

// forgiveSeeds forgets failures of seeds: one that answers is enough.
func (r *Reach) forgiveSeeds() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, seed := range r.seeds {
		if p := r.mu.peers[seed]; p != nil {
			p.err = nil
		}
	}
}

// OnBrokerDisconnect implements kgo.HookBrokerDisconnect.
func (r *Reach) OnBrokerDisconnect(meta kgo.BrokerMetadata, _ net.Conn) {
	r.note(addrOf(meta), func(p *peer) { p.asked = 0 })
}

// waits reports whether a broker may hold back the answer to a request for long.
func waits(key int16) bool {
	return slices.Contains([]kmsg.Key{kmsg.Fetch, kmsg.JoinGroup, kmsg.SyncGroup}, kmsg.Key(key))
}

// OnBrokerWrite implements kgo.HookBrokerWrite.
func (r *Reach) OnBrokerWrite(meta kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, err error) {
	if err == nil && !waits(key) {
		r.note(addrOf(meta), func(p *peer) { p.node, p.asked = max(p.node, meta.NodeID), p.asked+1 })
	}
}

// OnBrokerRead implements kgo.HookBrokerRead.
func (r *Reach) OnBrokerRead(meta kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, err error) {
	if err == nil && !waits(key) {
		r.note(addrOf(meta), func(p *peer) { p.asked = max(p.asked-1, 0) })
	}
	if err == nil && kmsg.Key(key) == kmsg.Fetch {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.mu.begun = true
	}
}

// Begun returns what keeps a consumer from its first records when --timeout has passed since it began. One that has read waits for a broker
// that goes away, for as long as it takes.
func (s *Session) Begun(since time.Time) error {
	r := s.Reach()
	r.mu.Lock()
	begun := r.mu.begun
	r.mu.Unlock()
	if p := r.trouble(); !begun && p != nil && time.Since(since) >= s.Timeout {
		return r.explain(context.DeadlineExceeded, p)
	}
	return nil
}

// Stuck returns err with the address that the command waits for, if there is one.
func (s *Session) Stuck(err error) error {
	if p := s.Reach().trouble(); p != nil {
		return s.Reach().explain(err, p)
	}
	return err
}

// trouble returns a copy of the peer that keeps a command waiting, or nil: one that failed, one to which a connection is being made, or
// one that owes an answer. Of several it prefers an address that a broker advertises, then the last that did something.
func (r *Reach) trouble() *peer {
	r.mu.Lock()
	defer r.mu.Unlock()
	var worst *peer
	for _, p := range r.mu.peers {
		if r.rank(p) > 0 && (worst == nil || cmp.Or(cmp.Compare(r.rank(p), r.rank(worst)), p.changed.Compare(worst.changed)) > 0) {
			worst = p
		}
	}
	if worst == nil {
		return nil
	}
	found := *worst
	return &found
}

// rank orders peers by how likely they are what a command waits for; 0 is no trouble.
func (r *Reach) rank(p *peer) (rank int) {
	switch {
	case p.err != nil:
		rank = 3
	case p.dials > 0:
		rank = 2
	case p.asked > 0:
		rank = 1
	}
	if rank > 0 && r.advertised(p) {
		rank += 3
	}
	return rank
}

// advertised reports whether a broker named the address, rather than the user.
func (r *Reach) advertised(p *peer) bool { return !slices.Contains(r.seeds, p.addr) }

// name is the peer for a person, with the setting that the address comes from.
func (r *Reach) name(p *peer) string {
	if !r.advertised(p) {
		return p.addr
	}
	id := "the broker"
	if p.node >= 0 {
		id = fmt.Sprintf("broker %d", p.node)
	}
	return fmt.Sprintf("%s, the address that %s advertises (advertised.listeners)", p.addr, id)
}

// describe says what a peer that is trouble fails at.
func (r *Reach) describe(p *peer) string {
	switch {
	case p.err != nil:
		return fmt.Sprintf("no connection to %s: %v", r.name(p), p.err)
	case p.dials > 0:
		return "no connection yet to " + r.name(p)
	}
	return "no answer yet from " + r.name(p)
}

// Tell says once that a broker is away, and once that it is back. A consumer that has begun waits for it.
func (r *Reach) Tell(out io.Writer) {
	p := r.trouble()
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case p != nil && p.err != nil && r.mu.told != p.addr:
		fmt.Fprintf(out, "... no broker at %s: %v; trying again (Ctrl-C ends)\n", r.name(p), p.err)
		r.mu.told = p.addr
	case r.mu.told != "" && r.mu.peers[r.mu.told].err == nil:
		fmt.Fprintf(out, "... connected to %s again\n", r.mu.told)
		r.mu.told = ""
	}
}

// UnreachedError is a failure that comes from an address that cannot be reached.
type UnreachedError struct {
	text string
	err  error
}

func (e *UnreachedError) Error() string { return e.text }
func (e *UnreachedError) Unwrap() error { return e.err }

// explain returns an *UnreachedError that names p.
func (r *Reach) explain(err error, p *peer) error {
	hint := "; --timeout waits longer"
	if r.advertised(p) {
		hint = "; set advertised.listeners to what clients can reach, or give a longer --timeout"
	}
	return &UnreachedError{r.describe(p) + hint, err}
}

// networkish reports whether err says that a broker could not be asked, rather than what it answered.
func networkish(err error) bool {
	var parts *kadm.ShardErrors
	if errors.As(err, &parts) && len(parts.Errs) > 0 {
		return networkish(parts.Errs[0].Err)
	}
	if _, spoke := errors.AsType[*kerr.Error](err); spoke || errors.Is(err, context.Canceled) {
		return false
	}
	var failed net.Error
	return errors.As(err, &failed) || slices.ContainsFunc([]error{
		context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF, kgo.ErrRecordRetries, kgo.ErrRecordTimeout, kgo.ErrClientClosed,
	}, func(target error) bool { return errors.Is(err, target) })
}

// sayAfter is how long a command waits in silence.
const sayAfter = time.Second

// Waiting says on stderr what the command waits for, once for each address and after a second of it, until stop is called.
func (s *Session) Waiting() (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		start := time.Now()
		tick := time.NewTicker(sayAfter / 10)
		defer tick.Stop()
		said := make(map[string]bool)
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
			}
			p := s.Reach().trouble()
			if p == nil || said[p.addr] || time.Since(start) < sayAfter || time.Since(p.changed) < sayAfter/2 && p.err == nil {
				continue
			}
			said[p.addr] = true
			fmt.Fprintf(s.ErrOut, "... %s; trying for up to --timeout %v\n", s.Reach().describe(p), s.Timeout)
		}
	}()
	return func() { close(quit); <-done }
}
