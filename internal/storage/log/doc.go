// Package log is the segments of one partition: append, read, sync, roll, truncate, retain.
package log
