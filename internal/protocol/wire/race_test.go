//go:build race

package wire

// raceEnabled says that the race detector is on: it turns off the optimisation that lets append(s, make(n)...) allocate once.
const raceEnabled = true
