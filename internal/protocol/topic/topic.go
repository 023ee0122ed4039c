package topic

import (
	"encoding/base64"
	"fmt"
)

// ID is a topic's id (KIP-516). The zero ID stands for "none".
type ID [16]byte

// String is Kafka's form of a Uuid: URL-safe base64 without padding.
func (id ID) String() string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// NameMax is the longest topic name in bytes (Kafka's Topic.MAX_NAME_LENGTH).
const NameMax = 249

// idLen is the length of an ID as text.
const idLen = 22

// ParseID reads what String writes. Padding at the end is allowed, as in Kafka's Uuid.fromString.
func ParseID(s string) (ID, error) {
	text := s
	if len(s) == idLen+2 && s[idLen:] == "==" {
		text = s[:idLen]
	}
	if len(text) != idLen {
		return ID{}, fmt.Errorf("topic id %s has %d characters, expected are %d of URL-safe base64", quoted(s), len(s), idLen)
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) != len(ID{}) {
		return ID{}, fmt.Errorf("topic id %s is not URL-safe base64", quoted(s))
	}
	return ID(b), nil
}
