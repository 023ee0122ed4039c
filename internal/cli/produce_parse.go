package cli

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ottla-io/ottla/internal/cli/session"
)

// parser turns lines into records as the flags say.
func (f *produceFlags) parser(topic string, hasKey bool) (func([]byte) (*kgo.Record, error), error) {
	headers, err := parseHeaders(f.headers)
	if err != nil {
		return nil, err
	}
	if f.asJSON {
		if f.keySeparator != "" || hasKey {
			return nil, session.Usagef("--json has the key in the line; leave --key and --key-separator out")
		}
		return func(line []byte) (*kgo.Record, error) { return parseJSON(topic, line, headers, f.partition) }, nil
	}
	separator := []byte(unescape(f.keySeparator))
	return func(line []byte) (*kgo.Record, error) {
		r := &kgo.Record{Topic: topic, Headers: headers, Partition: max(f.partition, 0)}
		if hasKey {
			r.Key = []byte(f.key)
		}
		r.Value = bytes.Clone(line)
		if len(separator) > 0 {
			key, value, ok := bytes.Cut(r.Value, separator)
			if !ok {
				return nil, fmt.Errorf("%q has no %q between key and value; without keys leave --key-separator out", shorten(line), separator)
			}
			r.Key, r.Value = key, value
		}
		if r.Value == nil {
			r.Value = []byte{} // an empty line is an empty value, not a null one
		}
		if f.nullEmpty && len(r.Value) == 0 {
			r.Value = nil
		}
		return r, nil
	}, nil
}

func shorten(line []byte) string {
	if len(line) > 40 {
		return string(line[:40]) + "..."
	}
	return string(line)
}

// unescape takes \t, \n, \0 and \\ in a flag as a shell user means them.
func unescape(text string) string {
	return strings.NewReplacer(`\\`, `\`, `\t`, "\t", `\n`, "\n", `\0`, "\x00").Replace(text)
}

func parseHeaders(pairs []string) ([]kgo.RecordHeader, error) {
	var headers []kgo.RecordHeader
	for _, pair := range pairs {
		key, text, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, session.Usagef("--headers %s: must be key=value", pair)
		}
		headers = append(headers, kgo.RecordHeader{Key: key, Value: []byte(text)})
	}
	return headers, nil
}

func parseJSON(topic string, line []byte, headers []kgo.RecordHeader, partition int32) (*kgo.Record, error) {
	var j session.JSONRecord
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&j); err != nil {
		return nil, fmt.Errorf(`not a record in JSON, such as {"key":"k","value":"v"}: %w`, err)
	}
	r := &kgo.Record{Topic: topic, Headers: headers, Partition: max(partition, 0)}
	if j.Timestamp != "" {
		t, err := time.Parse(time.RFC3339Nano, j.Timestamp)
		if err != nil {
			return nil, fmt.Errorf("timestamp: %w", err)
		}
		r.Timestamp = t
	}
	var err error
	if r.Key, err = jsonBytes(j.Key, j.KeyBase64); err != nil {
		return nil, fmt.Errorf("key_base64: %w", err)
	}
	if r.Value, err = jsonBytes(j.Value, j.ValueBase64); err != nil {
		return nil, fmt.Errorf("value_base64: %w", err)
	}
	for _, h := range j.Headers {
		value, err := jsonBytes(h.Value, h.ValueBase64)
		if err != nil {
			return nil, fmt.Errorf("header %s: value_base64: %w", h.Key, err)
		}
		r.Headers = append(slices.Clip(r.Headers), kgo.RecordHeader{Key: h.Key, Value: value})
	}
	return r, nil
}

func jsonBytes(text *string, encoded string) ([]byte, error) {
	if encoded != "" {
		return base64.StdEncoding.DecodeString(encoded)
	}
	if text == nil {
		return nil, nil
	}
	return []byte(*text), nil
}
