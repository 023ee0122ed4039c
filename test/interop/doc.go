// Package interop runs other people's Kafka clients against the real binary, over TCP.
//
// Every client is an adapter to one small interface, and every scenario runs for each of them; what one client
// produces is read by all the others. The package has no code but its tests.
//
// Reading order: client_test.go (the interface), broker_test.go (the process under test), scenario_test.go,
// one file for each client, then kcat_test.go, kafka_python_test.go with python/client.py, kgo_test.go (franz-go's own
// suite) and java_test.go (Kafka's own tools and broker; build tag java).
package interop
