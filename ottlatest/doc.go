// Package ottlatest runs real brokers inside a test.
//
//	func TestOrders(t *testing.T) {
//		server := ottlatest.Start(t)
//		client, err := kgo.NewClient(kgo.SeedBrokers(server.Addr()))
//		...
//	}
//
// Invariants:
//
//  1. Every broker has a directory of its own below t.TempDir and ports that the system picks, so tests run side by side.
//  2. The broker is closed, and all it started has ended, before the test ends; a broker that does not stop cleanly fails the test.
//
// Start may be called from any goroutine of the test, any number of times.
//
// Files: ottlatest.go.
package ottlatest
