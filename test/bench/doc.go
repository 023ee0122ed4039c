//go:build linux

// Command bench prints Ottla's figures beside the floor of the machine, measured in the same run, so that each is a
// ratio. It never fails on time: figures are for people.
//
// The floor is made of bare programs that do a part of the work and nothing else, started as processes of their
// own: a server that drains its socket, checks the CRC, groups writes and answers (bare.go); an echo; a relay from
// producer to waiting consumer without a log; a server that answers every fetch with sendfile. The same raw client
// (client.go), which sends frames made beforehand and reads answers without decoding more than it must, drives them
// and the broker.
//
// Rules of measuring, from experience with such machines: rounds are interleaved (bare, ottla, bare, ottla, ...) and the
// median of the rounds' ratios is reported; page cache is touched beforehand; CPU time for each GB is printed beside wall
// time, since two cores are shared with the client.
//
// Reading order: main.go, process.go, frame.go, client.go, bare.go, then one file for each section; those of groups begin with group_client.go.
package main
