// Package pattern is regular expressions that choose topics, with a bound on what each costs.
//
// A pattern comes from a client, so that a few hundred bytes could ask for gigabytes: a{1000} repeated is one program of a million
// instructions. Compile bounds each step before it takes it: the text, the program as its repetitions multiply it, and the table.
//
// The syntax is RE2's, as Kafka's. A pattern matches whole names. Names of topics have 65 different characters, so nearly every pattern
// becomes a small table of states, and matching takes one look into the table for each character. A pattern that would need too many
// states ("dot star, then any 36") is simulated by package regexp, if its program is small.
//
// Invariants:
//  1. Compile takes time and memory within the limits below, whatever the text.
//  2. Match takes time linear in the name: two nanoseconds or so per character by table, some microseconds when simulated.
//  3. Match agrees with package regexp on every legal name.
//
// Concurrency: a Pattern does not change; Match may run many times at once.
//
// Files in reading order: pattern.go (limits, Compile, Match), size.go (the program's size before it is made), table.go (the table).
package pattern
