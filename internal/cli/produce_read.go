package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/ottla-io/ottla/internal/cli/session"
)

// lineMax bounds a line, in bytes, so that a file without line ends does not fill the memory.
const lineMax = 64 << 20

// lineReader reads lines in a goroutine of its own, so that an interrupt is not held up by a silent stdin. The goroutine
// ends with the input; a blocked stdin ends with the process.
type lineReader struct {
	lines chan []byte
	err   error // valid once lines is closed
}

func readLines(ctx context.Context, input io.Reader) *lineReader {
	r := &lineReader{lines: make(chan []byte, 256)}
	go func() {
		defer close(r.lines)
		s := bufio.NewScanner(input)
		s.Buffer(make([]byte, 0, 64<<10), lineMax)
		for s.Scan() {
			select {
			case r.lines <- bytes.Clone(s.Bytes()):
			case <-ctx.Done():
				r.err = ctx.Err()
				return
			}
		}
		if r.err = s.Err(); errors.Is(r.err, bufio.ErrTooLong) {
			r.err = fmt.Errorf("longer than %s", humanize.IBytes(lineMax))
		}
	}()
	return r
}

// next returns the next line, io.EOF after the last one, or ctx's error.
func (r *lineReader) next(ctx context.Context) ([]byte, error) {
	select {
	case line, ok := <-r.lines:
		if ok {
			return line, nil
		}
		if r.err != nil {
			return nil, r.err
		}
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// followEvery is how often a followed file is looked at.
const followEvery = 200 * time.Millisecond

// followed is a file that is read on as it grows, and from its start when it is cut or replaced, as by log rotation.
type followed struct {
	ctx  context.Context
	name string
	file *os.File
	pos  int64
}

func followFile(ctx context.Context, name string) (*followed, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	return &followed{ctx: ctx, name: name, file: file}, nil
}

// Read returns io.EOF only when the context ends.
func (f *followed) Read(dst []byte) (int, error) {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		n, err := f.file.Read(dst)
		f.pos += int64(n)
		if n > 0 || err != nil && !errors.Is(err, io.EOF) {
			return n, err
		}
		if f.rotated() {
			continue
		}
		select {
		case <-tick.C:
		case <-f.ctx.Done():
			return 0, io.EOF
		}
	}
}

// rotated reopens the file if another one has its name or it was cut, and reports whether there may be more to read.
func (f *followed) rotated() bool {
	there, err := os.Stat(f.name)
	if err != nil {
		return false // between the two steps of a rotation
	}
	here, err := f.file.Stat()
	if err != nil || os.SameFile(there, here) && there.Size() >= f.pos {
		return false
	}
	file, err := os.Open(f.name)
	if err != nil {
		return false
	}
	_ = f.file.Close() // it was only read
	f.file, f.pos = file, 0
	return true
}

func (f *followed) Close() error { return f.file.Close() }

// showProgress shows progress if there is a terminal to show it on, until the function it returns is called.
func (a *app) showProgress(t *tally) (stop func()) {
	if !session.IsTerminal(a.ErrOut) {
		return func() {}
	}
	return keepLine(a.ErrOut, t)
}

// keepLine keeps a line of counts up to date until the function it returns is called, which clears it.
func keepLine(w io.Writer, t *tally) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	start := time.Now()
	go func() {
		defer close(done)
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				s, took := t.snapshot(), time.Since(start).Seconds()
				fmt.Fprintf(w, "\r%s, %s, %.0f/s, %s/s\x1b[K", session.Plural(s.Records, "record"), session.Size(s.Bytes), float64(s.Records)/took, session.Size(int64(float64(s.Bytes)/took)))
			case <-quit:
				fmt.Fprint(w, "\r\x1b[K")
				return
			}
		}
	}()
	return func() { close(quit); <-done }
}
