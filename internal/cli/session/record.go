package session

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"
)

// JSONRecord is a record as consume --json writes it and produce --json reads it. Bytes that are no UTF-8 stand in the
// base64 field instead.
type JSONRecord struct {
	Topic       string       `json:"topic,omitempty"`
	Partition   *int32       `json:"partition,omitempty"`
	Offset      *int64       `json:"offset,omitempty"`
	Timestamp   string       `json:"timestamp,omitempty"` // RFC 3339 with ms
	Key         *string      `json:"key"`
	KeyBase64   string       `json:"key_base64,omitempty"`
	Value       *string      `json:"value"`
	ValueBase64 string       `json:"value_base64,omitempty"`
	Headers     []JSONHeader `json:"headers,omitempty"`
}

// JSONHeader is a header of a JSONRecord.
type JSONHeader struct {
	Key         string  `json:"key"`
	Value       *string `json:"value"`
	ValueBase64 string  `json:"value_base64,omitempty"`
}

// TimestampLayout is RFC 3339 with milliseconds, which is what records have.
const TimestampLayout = "2006-01-02T15:04:05.000Z07:00"

// JSONLine is a record as a line of JSON.
func JSONLine(r *kgo.Record) []byte {
	j := JSONRecord{Topic: r.Topic, Partition: &r.Partition, Offset: &r.Offset, Timestamp: r.Timestamp.UTC().Format(TimestampLayout)}
	j.Key, j.KeyBase64 = TextOrBase64(r.Key)
	j.Value, j.ValueBase64 = TextOrBase64(r.Value)
	for _, h := range r.Headers {
		text, encoded := TextOrBase64(h.Value)
		j.Headers = append(j.Headers, JSONHeader{h.Key, text, encoded})
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(j) // strings and numbers always encode
	return []byte(b.String())
}

// TextOrBase64 is bytes as text if they are UTF-8, or else in base64; nil is neither.
func TextOrBase64(b []byte) (text *string, encoded string) {
	if b == nil {
		return nil, ""
	}
	if !utf8.Valid(b) {
		return nil, base64.StdEncoding.EncodeToString(b)
	}
	s := string(b)
	return &s, ""
}
