// Package topic names topics and their partitions, and checks names before they meet a path.
package topic
