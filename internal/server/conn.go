package server

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ottla-io/ottla/internal/api"
)

// conn is one connection. All but the queue, stopping and what the sender uses belongs to the reader.
type conn struct {
	srv    *Server
	nc     net.Conn
	raw    syscall.RawConn // see rawOf
	info   api.Conn
	ctx    context.Context // ends when the connection is cut
	cancel context.CancelFunc

	in    input
	claim claim
	loan  *loan // while there is something to parse
	open  bool  // a request was begun
	queue queue

	readFunc func(fd uintptr) bool
	readN    int
	readErr  error

	active     time.Time // when bytes came last
	frameSince time.Time // since when the rest of a frame is awaited; zero if none is
	deadline   time.Time // the read deadline that is set

	stopping      atomic.Bool
	writeDeadline time.Time // the sender's
}

func newConn(s *Server, listener string, nc net.Conn) *conn {
	c := &conn{srv: s, nc: nc, active: time.Now()}
	c.info = api.Conn{Listener: listener, Local: addrPort(nc.LocalAddr()), Remote: addrPort(nc.RemoteAddr())}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.in.pool = &s.buffers
	c.claim.origin = s.budget.enter(c.info.Remote.Addr())
	c.queue.rings, c.queue.changed = &s.rings, make(chan struct{}, 1)
	c.raw = rawOf(nc)
	c.readFunc = c.readReady
	return c
}

// serve is the reader's life, and the connection's.
func (c *conn) serve() {
	err := c.read()
	if c.claim.evicted.Load() {
		err = c.evictedFault()
	}
	c.release()
	c.report(err)
	c.linger(err)
	c.cut()
	c.queue.await(context.Background(), func() bool { return !c.queue.isSending() })
	c.queue.kill()
}

// read reads and begins requests until the connection's end, which the error gives.
func (c *conn) read() error {
	for {
		if err := c.fill(); err != nil {
			return err
		}
		if err := c.drain(); err != nil {
			return err
		}
	}
}

// release gives back the reader's memory.
func (c *conn) release() {
	c.in.w = c.in.r
	c.in.shrink()
	c.settle()
	c.unhold()
	c.leaveLane()
	c.srv.budget.leave(c.claim.origin)
	c.giveLoan()
}

// linger lets earlier replies leave after a fault or when the server closes. Whoever closed the connection wants none.
func (c *conn) linger(err error) {
	f, isFault := errors.AsType[*fault](err)
	if !isFault && !errors.Is(err, errClosed) {
		return
	}
	if isFault {
		timer := time.AfterFunc(lingerTime, c.cut)
		defer timer.Stop()
	}
	if c.queue.await(c.ctx, c.queue.idle) && isFault && f.farewell != "" {
		_ = c.nc.SetWriteDeadline(time.Now().Add(lingerTime))
		_, _ = io.WriteString(c.nc, f.farewell)
	}
}

// report logs the end of a connection: a line for what a person should know, one at debug level for the rest.
func (c *conn) report(err error) {
	f, isFault := errors.AsType[*fault](err)
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, errClosed) || errors.Is(err, net.ErrClosed):
		return
	case !isFault:
		c.srv.opts.Log.Debug("connection ended", slog.String("listener", c.info.Listener), slog.Any("remote", c.info.Remote), slog.Any("err", err))
		return
	case f.reason == "idle":
		c.srv.opts.Log.Debug("connection closed", slog.String("listener", c.info.Listener), slog.Any("remote", c.info.Remote), slog.Any("reason", err))
	default:
		c.srv.opts.Log.Info("connection closed", slog.String("listener", c.info.Listener), slog.Any("remote", c.info.Remote), slog.Any("reason", err))
	}
	c.srv.opts.Observer.Refused(c.info.Listener, f.reason)
}

// stopReading makes the reader end with errClosed, at the latest when its next read would wait.
func (c *conn) stopReading() {
	c.stopping.Store(true)
	_ = c.nc.SetReadDeadline(longAgo)
}

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

// cut closes the connection at once. It may be called by anybody, and more than once.
func (c *conn) cut() {
	c.cancel()
	_ = c.nc.Close()
}

// arm sets the read deadline before a wait. An idle one is moved only when a good part of it is used up, to save the call.
func (c *conn) arm(now time.Time) {
	at := now.Add(c.srv.opts.IdleTimeout)
	if c.in.partial() > 0 {
		if c.frameSince.IsZero() {
			c.frameSince = now
		}
		at = c.frameDeadline()
	} else {
		c.frameSince = time.Time{}
		if left := c.deadline.Sub(now); left > c.srv.opts.IdleTimeout*3/4 && left <= c.srv.opts.IdleTimeout {
			return
		}
	}
	if at.Equal(c.deadline) {
		return
	}
	c.deadline = at
	_ = c.nc.SetReadDeadline(at)
	if c.stopping.Load() { // it may have been set just before
		_ = c.nc.SetReadDeadline(longAgo)
	}
}

// frameRate is the bytes a second at which the rest of a frame must come, at least, after FrameTimeout.
const frameRate = 16 << 10

// frameDeadline is when the frame that has begun must be there, as far as it has come.
func (c *conn) frameDeadline() time.Time {
	earned := time.Duration(c.in.partial()) * time.Second / frameRate
	return c.frameSince.Add(c.srv.opts.FrameTimeout + earned)
}

// expired decides what a passed read deadline means: the end, or that it was an old one.
func (c *conn) expired() error {
	now := time.Now()
	switch {
	case c.stopping.Load():
		return errClosed
	case c.in.partial() > 0:
		if !c.frameSince.IsZero() && !now.Before(c.frameDeadline()) {
			return &fault{reason: "slow", err: errors.New("the rest of a frame did not come in time")}
		}
	case now.Sub(c.active) >= c.srv.opts.IdleTimeout && c.queue.idleSince(now.Add(-c.srv.opts.IdleTimeout)):
		return &fault{reason: "idle", err: errors.New("nothing came for connections.max.idle.ms")}
	}
	c.deadline = time.Time{}
	c.arm(now)
	return nil
}

// isTimeout reports whether err is a passed deadline.
func isTimeout(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }
