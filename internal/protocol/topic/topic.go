package topic

import "encoding/base64"

// ID is a topic's id (KIP-516). The zero ID stands for "none".
type ID [16]byte

// String is Kafka's form of a Uuid: URL-safe base64 without padding.
func (id ID) String() string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// NameMax is the longest topic name in bytes (Kafka's Topic.MAX_NAME_LENGTH).
const NameMax = 249
