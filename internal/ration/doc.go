// Package ration bounds the memory of replies that can be much larger than their requests: a thousand connections that ask for all topics, and
// do not read, would have a copy each.
//
// A reply is built by one of a few builders. A large one takes room, which all share, until its client has taken it. Where there is none it is
// thrown away and built again in its turn, so that what waits takes no memory but its request.
//
// Invariants:
//  1. Replies above FreeReply take no more than the ration's size together, or one of them has it alone.
//  2. Room is given in the order in which replies came to wait.
//  3. At most buildersMax replies are being built, but for those that ask for little (Modest).
//
// Concurrency: a Ration is shared by all connections and has one lock, which is never held while a reply is built.
//
// Files in reading order: ration.go, asked.go (which requests ask for much).
package ration
