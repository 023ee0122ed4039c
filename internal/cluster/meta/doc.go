// Package meta: see its files.
package meta
