package topic

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Names of the topics that Kafka keeps for itself.
const (
	ConsumerOffsets  = "__consumer_offsets"
	TransactionState = "__transaction_state"
	ShareGroupState  = "__share_group_state"
	// ClusterMetadata is the quorum's log. It has a directory as topics have, and is not a topic for clients.
	ClusterMetadata = "__cluster_metadata"
)

// quotedMax is how many bytes of a refused name an error shows: names come from strangers and go into logs.
const quotedMax = 64

// Check says why name may not be a topic's, or nil (Kafka's Topic.validate). The error wraps
// kerr.InvalidTopicException. A name that passes is one path element and never leaves its directory.
func Check(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("topic name is empty: %w", kerr.InvalidTopicException)
	case name == "." || name == "..":
		return fmt.Errorf("topic name %q is not allowed: %w", name, kerr.InvalidTopicException)
	case len(name) > NameMax:
		return fmt.Errorf("topic name %s has %d bytes, the limit is %d: %w",
			quoted(name), len(name), NameMax, kerr.InvalidTopicException)
	}
	for i := range len(name) {
		if !legal(name[i]) {
			return fmt.Errorf("topic name %s has %q, allowed are ASCII letters, digits, '.', '_' and '-': %w",
				quoted(name), name[i:i+1], kerr.InvalidTopicException)
		}
	}
	return nil
}

// legal reports whether c may stand in a topic's name.
func legal(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-'
}

// quoted is name in quotes and escaped, cut to quotedMax bytes.
func quoted(name string) string {
	if len(name) > quotedMax {
		return fmt.Sprintf("%q...", name[:quotedMax])
	}
	return fmt.Sprintf("%q", name)
}

// Unify is name as the metrics would have it, where '.' becomes '_' (Kafka's Topic.unifyCollisionChars): topics whose names
// unify to the same one collide.
func Unify(name string) string { return strings.ReplaceAll(name, ".", "_") }

// MayCollide reports whether name has a letter by which it could collide with another (Kafka's
// Topic.hasCollisionChars).
func MayCollide(name string) bool { return strings.ContainsAny(name, "._") }

// IsInternal reports whether clients may not create, delete or write the topic themselves (Kafka's Topic.isInternal).
func IsInternal(name string) bool {
	switch name {
	case ConsumerOffsets, TransactionState, ShareGroupState:
		return true
	default:
		return false
	}
}
