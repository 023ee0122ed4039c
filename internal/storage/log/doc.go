// Package log: see its files.
package log
