// Package ottla runs Ottla brokers inside a Go program. A broker is a real one: Kafka clients connect to it over TCP, and its
// data directory can be opened later by the ottla command.
//
//	server, err := ottla.Start(ctx, ottla.Options{DataDir: "data"})
//	if err != nil {
//		return err
//	}
//	defer server.Close()
//	client, err := kgo.NewClient(kgo.SeedBrokers(server.Addr()))
//
// Package ottlatest does the same for a test, in one line.
//
// Invariants:
//
//  1. Start returns a server that serves, or an error and nothing that runs or is locked.
//  2. Servers share nothing: any number run in one process, each with its own directory, addresses, metrics and logger.
//  3. Close returns when every goroutine of the server has ended and its files are closed.
//  4. This package is where settings, broker, handlers, listeners and the HTTP server are put together; none of them knows all of it.
//
// A Server's methods may be called by any goroutine, Close more than once.
//
// Files in reading order: options.go (what to start), ottla.go (Start and Close), wire.go (settings into each part's options),
// settings.go (what the broker and the handlers ask of the settings), observe.go (figures for the metrics).
package ottla
