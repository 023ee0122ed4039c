package cli

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

const testSegment = "00000000000000000100"

// segmentFiles writes a segment of three batches of two records at offset 100, with indexes that fit, as edit changed them, and
// returns its directory.
func segmentFiles(t *testing.T, edit func(files map[string][]byte)) string {
	t.Helper()
	dir := t.TempDir()
	files := map[string][]byte{}
	var w batch.Builder
	for i := range 3 {
		base := batch.Offset(100 + 2*i)
		pos := len(files[".log"])
		w.Reset(batch.Fields{BaseOffset: base, LeaderEpoch: 4, ProducerID: batch.NoProducerID, ProducerEpoch: batch.NoProducerEpoch, BaseSequence: batch.NoSequence})
		for k := range 2 {
			w.Append(batch.Record{Offset: base + batch.Offset(k), Timestamp: 1000 * int64(i+1), Key: []byte("k"), Value: []byte("va\nue")})
		}
		b, err := w.Build()
		if err != nil {
			t.Fatal(err)
		}
		files[".log"] = append(files[".log"], b...)
		files[".index"] = binary.BigEndian.AppendUint32(files[".index"], uint32(base+1-100))
		files[".index"] = binary.BigEndian.AppendUint32(files[".index"], uint32(pos))
		files[".timeindex"] = binary.BigEndian.AppendUint64(files[".timeindex"], uint64(1000*(i+1)))
		files[".timeindex"] = binary.BigEndian.AppendUint32(files[".timeindex"], uint32(base-100))
	}
	edit(files)
	for ext, content := range files {
		if err := os.WriteFile(filepath.Join(dir, testSegment+ext), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestVerify(t *testing.T) {
	t.Parallel()
	put := func(ext string, at int, value uint32) func(map[string][]byte) {
		return func(files map[string][]byte) { binary.BigEndian.PutUint32(files[ext][at:], value) }
	}
	for _, tt := range []struct {
		name string
		edit func(files map[string][]byte)
		want string // empty: nothing wrong
	}{
		{"sound", func(map[string][]byte) {}, ""},
		{"zeros after the end", func(f map[string][]byte) {
			f[".log"] = append(f[".log"], make([]byte, 500)...)
			f[".index"] = append(f[".index"], make([]byte, 80)...)
			f[".timeindex"] = append(f[".timeindex"], make([]byte, 120)...)
		}, ""},
		{"no indexes", func(f map[string][]byte) { delete(f, ".index"); delete(f, ".timeindex") }, ""},
		{"empty", func(f map[string][]byte) { clear(f); f[".log"] = nil }, ""},
		{"a flipped bit", func(f map[string][]byte) { f[".log"][70] ^= 1 }, ".log: position 0: "},
		{"a cut tail", func(f map[string][]byte) { f[".log"] = f[".log"][:len(f[".log"])-3] }, "the batch is cut"},
		{"rubbish after the end", func(f map[string][]byte) { f[".log"] = append(f[".log"], "rubbish rubbish rubbish"...) }, ".log: position"},
		{"an offset again", func(f map[string][]byte) { n := len(f[".log"]) / 3; f[".log"] = append(f[".log"][:n:n], f[".log"]...) }, "base offset is 100, expected 102 or more"},
		{"an offset below the name", put(".log", 4, 99), "base offset is 99, expected 100 or more"},
		{"an index into a batch", put(".index", 4, 5), ".index: entry 0: position is 5, where no batch begins"},
		{"an index of another offset", put(".index", 8, 5), ".index: entry 1: offset is 105, but the batch at"},
		{"an index that goes back", put(".index", 16, 0), ".index: entry 2: offset is 100, expected more than 103"},
		{"an odd index", func(f map[string][]byte) { f[".index"] = f[".index"][1:] }, ".index: has 23 bytes: must be a multiple of 8"},
		{"a time that never was", put(".timeindex", 28, 9999), ".timeindex: entry 2: timestamp is 9999, but the newest up to offset 104 is 3000"},
		{"a time index past the end", put(".timeindex", 32, 50), ".timeindex: entry 2: offset is 150, which is in no batch"},
		{"only an index", func(f map[string][]byte) { delete(f, ".log"); delete(f, ".timeindex") }, "has no .log file beside it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := segmentFiles(t, tt.edit)
			var out, errOut bytes.Buffer
			code := Main([]string{"ottla", "log", "verify", dir}, nil, &out, &errOut, nil)
			if tt.want == "" && (code != 0 || errOut.Len() > 0) || tt.want != "" && (code != 1 || !strings.Contains(out.String(), tt.want)) {
				t.Errorf("exit code %d, want %q, got\n%s%s", code, tt.want, out.String(), errOut.String())
			}
		})
	}
}

// fullDisk takes so many bytes.
type fullDisk int

func (d *fullDisk) Write(p []byte) (int, error) {
	n := min(len(p), int(*d))
	*d -= fullDisk(n)
	if n < len(p) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

// TestOutputFails: a command whose output could not be written has failed, whatever it was and however it prints.
func TestOutputFails(t *testing.T) {
	t.Parallel()
	dir := segmentFiles(t, func(map[string][]byte) {})
	for _, args := range [][]string{{"log", "dump", dir}, {"log", "dump", "-r", dir}, {"log", "dump", "--offsets", "-o", "json", dir}, {"log", "verify", dir}, {"log", "verify", "-o", "json", dir}, {"version"}, {"config", "explain", "num.partitions"}} {
		for _, room := range []fullDisk{0, 10} {
			var errOut bytes.Buffer
			if code := Main(append([]string{"ottla"}, args...), nil, &room, &errOut, nil); code != 1 || !strings.Contains(errOut.String(), "no space left") {
				t.Errorf("%q: exit code %d, %q", args, code, errOut.String())
			}
		}
	}
}

func TestDump(t *testing.T) {
	t.Parallel()
	dir := segmentFiles(t, func(f map[string][]byte) {
		f[".txnindex"] = slices.Concat([]byte{0, 0}, bytes.Repeat([]byte{0, 0, 0, 0, 0, 0, 0, 7}, 4))
	})
	var out, errOut bytes.Buffer
	if code := Main([]string{"ottla", "log", "dump", "-r", dir}, nil, &out, &errOut, nil); code != 0 {
		t.Fatalf("exit code %d: %s", code, errOut.String())
	}
	got := strings.ReplaceAll(out.String(), dir, "DIR")
	lines := strings.Split(got, "\n")
	for i, want := range []string{
		"Dumping DIR/" + testSegment + ".log",
		"Log starting offset: 100",
		"baseOffset: 100 lastOffset: 101 count: 2 baseSequence: -1 lastSequence: -1 producerId: -1 producerEpoch: -1 partitionLeaderEpoch: 4 " +
			"isTransactional: false isControl: false deleteHorizonMs: OptionalLong.empty position: 0 CreateTime: 1000 size: 87 magic: 2 compresscodec: none crc: ",
		"| offset: 100 CreateTime: 1000 keySize: 1 valueSize: 5 sequence: -1 headerKeys: [] key: k payload: va.ue",
	} {
		if !strings.HasPrefix(lines[i], want) {
			t.Errorf("line %d: got\n%s\nwant\n%s", i, lines[i], want)
		}
	}
	for _, want := range []string{"offset: 103 position: 87\n", "timestamp: 3000 offset: 104\n", "version: 0 producerId: 7 firstOffset: 7 lastOffset: 7 lastStableOffset: 7\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestDumpJSON(t *testing.T) {
	t.Parallel()
	dir := segmentFiles(t, func(f map[string][]byte) {
		f[".txnindex"] = slices.Concat([]byte{0, 0}, bytes.Repeat([]byte{0, 0, 0, 0, 0, 0, 0, 7}, 4))
	})
	var out, errOut bytes.Buffer
	if code := Main([]string{"ottla", "log", "dump", "-r", "-o", "json", dir}, nil, &out, &errOut, nil); code != 0 {
		t.Fatalf("exit code %d: %s", code, errOut.String())
	}
	for line := range strings.Lines(out.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("no JSON: %s", line)
		}
	}
	for _, want := range []string{
		`.log","batch":{"base_offset":100,"last_offset":101,"count":2,"base_sequence":-1,"producer_id":-1,"producer_epoch":-1,"leader_epoch":4,`,
		`"position":0,"timestamp_type":"CreateTime","max_timestamp":1000,"size":87,"magic":2,"compression":"none",`,
		`.log","record":{"offset":100,"timestamp":"1970-01-01T00:00:01.000Z","key":"k","value":"va\nue"}}`,
		`.index","index":{"offset":103,"position":87}}`,
		`.timeindex","time_index":{"timestamp":3000,"offset":104}}`,
		`.txnindex","aborted_transaction":{"version":0,"producer_id":7,"first_offset":7,"last_offset":7,"last_stable_offset":7}}`,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in\n%s", want, out.String())
		}
	}
}

func FuzzLog(f *testing.F) {
	f.Add([]byte("not a batch"), []byte{0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, log, index []byte) {
		dir := segmentFiles(t, func(files map[string][]byte) {
			files[".log"] = append(files[".log"], log...)
			files[".index"] = append(files[".index"], index...)
			files[".timeindex"] = index
		})
		var out, errOut bytes.Buffer
		Main([]string{"ottla", "log", "verify", dir}, nil, &out, &errOut, nil)
		Main([]string{"ottla", "log", "dump", "-r", dir}, nil, &out, &errOut, nil)
		Main([]string{"ottla", "log", "dump", "--offsets", dir}, nil, &out, &errOut, nil)
	})
}
