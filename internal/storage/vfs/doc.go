// Package vfs: see its files.
package vfs
