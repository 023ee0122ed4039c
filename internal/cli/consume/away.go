package consume

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// away notes that a broker cannot be reached, which the client keeps to itself and tries again: a consumer would wait without a word.
type away struct {
	mu struct {
		sync.Mutex
		addr string
		err  error // of the last connection; nil if it was made
		told bool  // since it failed
	}
}

// OnBrokerConnect implements kgo.HookBrokerConnect; the client's goroutines call it.
func (w *away) OnBrokerConnect(meta kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.addr, w.mu.err = net.JoinHostPort(meta.Host, strconv.Itoa(int(meta.Port))), err
	if op, ok := errors.AsType[*net.OpError](err); ok {
		w.mu.err = op.Err
	}
}

// tell says once that the broker is away, and once that it is back.
func (w *away) tell(out io.Writer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.mu.err != nil && !w.mu.told:
		fmt.Fprintf(out, "... no broker at %s: %v; trying again (Ctrl-C ends)\n", w.mu.addr, w.mu.err)
	case w.mu.err == nil && w.mu.told:
		fmt.Fprintf(out, "... connected to %s again\n", w.mu.addr)
	}
	w.mu.told = w.mu.err != nil
}
