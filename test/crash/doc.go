// Package crash kills the real binary while clients produce, and checks that nothing acknowledged is lost.
//
// TestKill kills the process (kill -9) at random moments; TestPower runs it on a file system that forgets what was not
// synced (disk_test.go, mounted by FUSE) and cuts the power, since kill -9 alone proves nothing about fsync. After each
// restart ledger_test.go reads every partition: each acknowledged record is there once, at the offset that was
// acknowledged, in the order of its producer.
//
// OTTLA_KILL_CYCLES and OTTLA_POWER_CYCLES say how often; the short forms run in every test of the tree.
//
// Reading order: ledger_test.go, broker_test.go, kill_test.go, disk_test.go, power_test.go.
package crash
