//go:build race

package log_test

// raceEnabled says that the race detector is on: it makes pools forget, and decompression ten times slower.
const raceEnabled = true
