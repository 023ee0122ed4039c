// Package partition: see its files.
package partition
