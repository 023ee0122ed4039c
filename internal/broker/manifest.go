package broker

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// manifest is what a clean stop knew of each partition, so that the next start need not touch them. It is believed only beside the marker
// of the same broker epoch.
type manifest map[partitionKey]facts

// facts are what is known of a partition that is not open.
type facts struct {
	id    topic.ID
	start batch.Offset
	end   batch.Offset
	size  int64 // bytes of its segments
}

const manifestHead = "ottla.manifest 1"

// errManifest marks a manifest that cannot be believed.
var errManifest = errors.New("malformed manifest")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode writes a head with the broker epoch and the count, a line for each partition, and the CRC32C of all that.
func (m manifest) encode(epoch int64) []byte {
	keys := make([]partitionKey, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, partitionKey.compare)
	out := fmt.Appendf(nil, "%s epoch %d count %d\n", manifestHead, epoch, len(keys))
	for _, k := range keys {
		f := m[k]
		out = fmt.Appendf(out, "%s %d %s %d %d %d\n", k.topic, k.index, f.id, f.start, f.end, f.size)
	}
	return fmt.Appendf(out, "crc %08x\n", crc32.Checksum(out, castagnoli))
}

// parseManifest reads a manifest and the epoch it was written at.
func parseManifest(content []byte) (manifest, int64, error) {
	at := bytes.LastIndex(content, []byte("crc "))
	if at < 0 {
		return nil, 0, fmt.Errorf("%w: there is no CRC", errManifest)
	}
	body := content[:at]
	if want := fmt.Sprintf("crc %08x\n", crc32.Checksum(body, castagnoli)); string(content[at:]) != want {
		return nil, 0, fmt.Errorf("%w: it ends with %.20q, expected %q", errManifest, content[at:], want)
	}
	head, lines, _ := strings.Cut(string(body), "\n")
	var (
		epoch int64
		count int
	)
	if _, err := fmt.Sscanf(head, manifestHead+" epoch %d count %d", &epoch, &count); err != nil {
		return nil, 0, fmt.Errorf("%w: its head is %.60q, expected %q", errManifest, head, manifestHead+" epoch NUMBER count NUMBER")
	}
	m := manifest{}
	for line := range strings.Lines(lines) {
		key, f, err := parseFacts(line)
		if err != nil {
			return nil, 0, fmt.Errorf("%w: line %.80q: %w", errManifest, line, err)
		}
		m[key] = f
	}
	if len(m) != count {
		return nil, 0, fmt.Errorf("%w: %d partitions, its head says %d", errManifest, len(m), count)
	}
	return m, epoch, nil
}

func parseFacts(line string) (partitionKey, facts, error) {
	fields := strings.Fields(line)
	if len(fields) != 6 {
		return partitionKey{}, facts{}, errors.New("six fields are needed")
	}
	id, err := topic.ParseID(fields[2])
	if err != nil {
		return partitionKey{}, facts{}, err
	}
	var numbers [4]int64
	for i, text := range []string{fields[1], fields[3], fields[4], fields[5]} {
		if numbers[i], err = strconv.ParseInt(text, 10, 64); err != nil || numbers[i] < 0 {
			return partitionKey{}, facts{}, fmt.Errorf("%.20q is not a number of 0 or more", text)
		}
	}
	f := facts{id: id, start: batch.Offset(numbers[1]), end: batch.Offset(numbers[2]), size: numbers[3]}
	return partitionKey{fields[0], int32(numbers[0])}, f, nil
}

// readManifest reads the manifest that belongs to a marker of epoch; nil if there is none to be believed.
func readManifest(files vfs.FS, epoch int64, report func(error)) (manifest, error) {
	content, err := readSmall(files, manifestFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m, written, err := parseManifest(content)
	if err != nil {
		report(fmt.Errorf("%s is ignored: %w", manifestFile, err))
		return nil, nil
	}
	if written != epoch {
		return nil, nil
	}
	return m, nil
}
