//go:build race

package batch

// raceEnabled says that the race detector is on: it makes pools forget, and decompression ten times slower.
const raceEnabled = true
