// Package batch: see its files.
package batch
