// Package replica is the machine of one partition's replica on one node: its role and leader epoch, how far its log
// reaches and how far it is durable, and the high watermark that follows from both.
//
// Step takes what happened (Lead, Appended, Synced, Configure, Tick) and says what to do about it: whether
// readers may see more, and whether a sync is wanted.
//
// A partition has one replica for now: this node's is the whole in-sync set, and the high watermark is how far this
// replica has acknowledged. Followers make it the minimum over the in-sync set; neither inputs nor effects change.
//
// Invariants:
//
//  1. The high watermark never falls.
//  2. HighWatermark <= End and Durable <= End.
//  3. With disk durability, and with flush.messages=1, HighWatermark <= Durable: nobody reads, and no acks=all
//     answer reports, what a power cut can take back.
//  4. The leader epoch never falls.
//
// Concurrency: none. A Replica belongs to its partition and is used under its lock.
//
// Files: replica.go.
package replica
