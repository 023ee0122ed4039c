package ottlatest

import (
	"context"
	"log/slog"
	"maps"
	"testing"

	"github.com/ottla-io/ottla"
)

// Option changes what Start starts.
type Option func(*ottla.Options)

// Set sets a setting by Kafka's name.
func Set(key, text string) Option {
	return func(o *ottla.Options) { o.Settings[key] = text }
}

// Dir puts the data into dir, which stays: to stop a broker and open its data again.
func Dir(dir string) Option { return func(o *ottla.Options) { o.DataDir = dir } }

// OnDisk has acks=all wait for the disk, as a broker does that is not a test's. It is slower.
func OnDisk() Option { return Set("log.durability", "disk") }

// Log writes the broker's log to the test's.
func Log(t testing.TB) Option {
	return func(o *ottla.Options) { o.Logger = slog.New(slog.NewTextHandler(t.Output(), nil)) }
}

// With changes any of the options.
func With(change func(*ottla.Options)) Option { return change }

// Start starts a broker for the test t. Unless an option says otherwise acks=all waits for the page cache only, which is as good
// when the test's process is all that can die, and a group begins at once, without waiting for more members.
func Start(t testing.TB, options ...Option) *ottla.Server {
	t.Helper()
	o := ottla.Options{
		Listen: "127.0.0.1:0", Admin: "127.0.0.1:0",
		Settings: map[string]string{"log.durability": "memory", "group.initial.rebalance.delay.ms": "0"},
		Version:  "test",
	}
	for _, option := range options {
		option(&o)
	}
	o.Settings = maps.Clone(o.Settings)
	if o.DataDir == "" && !o.Memory {
		o.DataDir = t.TempDir()
	}
	server, err := ottla.Start(context.Background(), o)
	if err != nil {
		t.Fatalf("start a broker: %v", err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Errorf("stop the broker: %v", err)
		}
	})
	return server
}
