package logfile

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// offsetsSegment writes records to a segment and returns its directory.
func offsetsSegment(t *testing.T, records []batch.Record) string {
	t.Helper()
	var w batch.Builder
	w.Reset(batch.NewFields(0))
	for i, r := range records {
		r.Offset, r.Timestamp = batch.Offset(i), 1000
		w.Append(r)
	}
	b, err := w.Build()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "00000000000000000000.log"), b, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// kafkaOffsets are records that Kafka wrote to __consumer_offsets, and what its dump tool shows of each.
func kafkaOffsets(t *testing.T) (records []batch.Record, shown []string) {
	t.Helper()
	all, err := os.ReadFile("../../coordinator/record/testdata/kafka-4.4.txt")
	if err != nil {
		t.Fatal(err)
	}
	for block := range strings.SplitSeq(strings.TrimSpace(string(all)), "\n\n") {
		lines := strings.Split(block, "\n")
		if !strings.HasPrefix(lines[0], "# key: ") {
			continue
		}
		key, keyErr := hex.DecodeString(lines[1])
		value, valueErr := hex.DecodeString(strings.TrimSuffix(lines[2], "null"))
		if keyErr != nil || valueErr != nil {
			t.Fatal(keyErr, valueErr)
		}
		if lines[2] == "null" {
			value = nil
		}
		records, shown = append(records, batch.Record{Key: key, Value: value}), append(shown, strings.TrimPrefix(lines[0], "# "))
	}
	return records, shown
}

// dumped is what Dump prints of each record of dir.
func dumped(t *testing.T, dir string, opts Options) []string {
	t.Helper()
	files, err := Find([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Dump(&out, files, opts); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.SplitSeq(out.String(), "\n") {
		if strings.HasPrefix(line, "| ") || strings.Contains(line, `"record":`) {
			lines = append(lines, line)
		}
	}
	return lines
}

var asText, asJSON = Options{Offsets: true}, Options{Offsets: true, JSON: func(r batch.Record) any { return r.Offset }}

// What Kafka's dump tool shows of Kafka's records, ours shows too, but for those of share groups.
func TestDumpOffsets(t *testing.T) {
	t.Parallel()
	records, shown := kafkaOffsets(t)
	lines, objects := dumped(t, offsetsSegment(t, records), asText), dumped(t, offsetsSegment(t, records), asJSON)
	if len(lines) != len(records) || len(objects) != len(records) || len(records) == 0 {
		t.Fatalf("%d and %d lines of %d records", len(lines), len(objects), len(records))
	}
	for i, want := range shown {
		_, got, _ := strings.Cut(lines[i], "headerKeys: [] ")
		if records[i].Key[1] >= 9 && records[i].Key[1] <= 15 {
			if !strings.HasPrefix(got, want[:len(`key: {"type":"10",`)]+`"raw":"AAZzaGFyZWQ`) {
				t.Errorf("of a share group: got\n%s", lines[i])
			}
			continue
		}
		if got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		key, value, _ := strings.Cut(strings.TrimPrefix(want, "key: "), " payload: ")
		object := `"consumer_offsets":{"key":` + key + `,"value":` + strings.Replace(value, "<DELETE>", "null", 1) + `}}`
		if !strings.HasSuffix(objects[i], object) || !json.Valid([]byte(objects[i])) {
			t.Errorf("got\n%s\nwant at its end\n%s", objects[i], object)
		}
	}
}

// What is no record of __consumer_offsets, or an odd one, is shown too.
func TestDumpNoOffsets(t *testing.T) {
	t.Parallel()
	dir := offsetsSegment(t, []batch.Record{
		{Key: []byte("\x00\x02\x00\x01g"), Value: []byte("\x00\x09new")},
		{Key: []byte("k"), Value: []byte("v")},
		{Value: []byte("v")},
		{Key: []byte("\x00\x63abc"), Value: []byte("v")},
		{Key: []byte("\x00\x04\x00\x01g"), Value: []byte("\x00\x00\x01\x00")},
		{Key: []byte("\x00\x02\x00\x01g"), Value: []byte("\x00\x00\x00\x08consumer\x00\x00\x00\x01\xff\xff\xff\xff\x00\x00\x00\x01" +
			"\x00\x01m\x00\x01c\x00\x01h\x00\x00\x00\x05\x00\x00\x00\x02no\x00\x00\x00\x00")},
	})
	texts := dumped(t, dir, asText)
	for i, want := range []string{
		"key: ....g payload: ..new error: malformed record of __consumer_offsets: type 2: a value of 5 bytes has version 9: known are 0 to 4",
		"key: k payload: v error: malformed record of __consumer_offsets: a key of 1 bytes has no type",
		"payload: v error: malformed record of __consumer_offsets: a key of 0 bytes has no type",
		`key: {"type":"99","raw":"YWJj"} payload: {"raw":"dg=="}`,
		`key: {"type":"4","data":{"groupId":"g"}} payload: {"version":"0","raw":"AQA="}`,
		`"sessionTimeout":5,"subscription":"bm8=","assignment":""}]}}`,
	} {
		if !strings.HasSuffix(texts[i], want) {
			t.Errorf("got\n%s\nwant at its end\n%s", texts[i], want)
		}
	}
	if objects := dumped(t, dir, asJSON); !strings.Contains(objects[1], `"consumer_offsets":{"value":null,"error":"malformed`) {
		t.Errorf("got\n%s", objects[1])
	}
}
