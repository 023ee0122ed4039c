package session

import (
	"context"
	"errors"
)

// UntilInterrupt runs fn with a context that ends at the first signal, or with ctx. What fails only because of that is no failure.
func (s *Session) UntilInterrupt(ctx context.Context, fn func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-s.Interrupt:
			cancel()
		case <-ctx.Done():
		}
	}()
	err := fn(ctx)
	interrupted := errors.Is(err, context.Canceled) && ctx.Err() != nil
	cancel()
	<-watched
	if interrupted {
		return nil
	}
	return err
}
