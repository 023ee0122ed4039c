package session

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// Session is one run of the command line.
type Session struct {
	Stdin       io.Reader
	Out, ErrOut io.Writer
	Interrupt   <-chan os.Signal

	Brokers string        // -b
	Output  string        // -o: table or json
	Timeout time.Duration // --timeout

	reachOnce sync.Once
	reach     *Reach

	Interactive bool // questions are asked even where the streams are no terminal, as in tests
}

// UsageError says that a command was called wrongly.
type UsageError struct{ Err error }

func (e UsageError) Error() string { return e.Err.Error() }
func (e UsageError) Unwrap() error { return e.Err }

// Usagef is fmt.Errorf for a UsageError.
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }
