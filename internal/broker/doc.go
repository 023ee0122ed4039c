// Package broker: see its files.
package broker
