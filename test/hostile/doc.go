// Package hostile attacks the real binary: with frames, names, records and settings that no client would send, with a full disk and too
// few descriptors, and with a data directory that was changed behind its back. Each attack must get Kafka's error code or one clear
// line, and after it the broker must serve, hold little memory, and have everything that it acknowledged.
//
// HOSTILE_FRAMES says how many random frames TestRandomFrames sends (a short form runs in every test of the tree). What needs root
// (a small file system) is skipped without it.
//
// Reading order: broker_test.go and wire_test.go (what the attacks use), frames_test.go, names_test.go, records_test.go, memory_test.go,
// cgroup_test.go, patterns_test.go, replies_test.go and growth_test.go (small requests that cost much), descriptors_test.go, full_test.go, damage_test.go, refused_test.go.
package hostile
