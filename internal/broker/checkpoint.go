package broker

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// partitionKey names a partition in the files at the top, which know no topic ids.
type partitionKey struct {
	topic string
	index int32
}

func (k partitionKey) compare(other partitionKey) int {
	return cmp.Or(cmp.Compare(k.topic, other.topic), cmp.Compare(k.index, other.index))
}

// checkpoint maps partitions to an offset each: Kafka's OffsetCheckpointFile, version 0.
type checkpoint map[partitionKey]batch.Offset

// errCheckpoint marks a checkpoint file that cannot be believed.
var errCheckpoint = errors.New("malformed checkpoint")

// checkpointMax bounds the entries that a file may claim.
const checkpointMax = 4_000_000

// parseCheckpoint reads a version, a count and that many lines "topic partition offset". One wrong line makes the whole file wrong.
// A file of no bytes has no entries: Kafka makes each checkpoint so before it first writes it.
func parseCheckpoint(content []byte) (checkpoint, error) {
	if len(content) == 0 {
		return checkpoint{}, nil
	}
	lines := bytes.Split(content, []byte("\n"))
	if len(lines) < 2 || string(bytes.TrimSpace(lines[0])) != "0" {
		return nil, fmt.Errorf("%w: line 1 is not the version 0", errCheckpoint)
	}
	count, err := strconv.Atoi(string(bytes.TrimSpace(lines[1])))
	if err != nil || count < 0 || count > checkpointMax {
		return nil, fmt.Errorf("%w: line 2 is %.20q, not a count of entries", errCheckpoint, lines[1])
	}
	lines = lines[2:]
	for len(lines) > 0 && len(bytes.TrimSpace(lines[len(lines)-1])) == 0 {
		lines = lines[:len(lines)-1]
	}
	if len(lines) != count {
		return nil, fmt.Errorf("%w: %d entries, line 2 says %d", errCheckpoint, len(lines), count)
	}
	c := make(checkpoint, count)
	for i, line := range lines {
		key, offset, err := parseEntry(string(line))
		if err == nil {
			if _, twice := c[key]; twice {
				err = fmt.Errorf("%s-%d stands there twice", key.topic, key.index)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", errCheckpoint, i+3, err)
		}
		c[key] = offset
	}
	return c, nil
}

func parseEntry(line string) (partitionKey, batch.Offset, error) {
	fields := strings.Fields(line)
	if len(fields) != 3 {
		return partitionKey{}, 0, fmt.Errorf("%.80q is not topic, partition, offset", line)
	}
	if err := topic.Check(fields[0]); err != nil {
		return partitionKey{}, 0, err
	}
	index, err := strconv.ParseInt(fields[1], 10, 32)
	if err != nil || index < 0 {
		return partitionKey{}, 0, fmt.Errorf("partition %.20q is not a number of 0 or more", fields[1])
	}
	offset, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil || offset < 0 {
		return partitionKey{}, 0, fmt.Errorf("offset %.20q is not a number of 0 or more", fields[2])
	}
	return partitionKey{fields[0], int32(index)}, batch.Offset(offset), nil
}

// encode writes the entries by topic and partition.
func (c checkpoint) encode() []byte {
	keys := make([]partitionKey, 0, len(c))
	for k := range c {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, partitionKey.compare)
	out := fmt.Appendf(nil, "0\n%d\n", len(keys))
	for _, k := range keys {
		out = fmt.Appendf(out, "%s %d %d\n", k.topic, k.index, c[k])
	}
	return out
}

// readCheckpoint reads a checkpoint. One that is not there is empty; so is one that is malformed, which report is told: nothing is skipped
// for it.
func readCheckpoint(files vfs.FS, name string, report func(error)) (checkpoint, error) {
	content, err := readSmall(files, name)
	if errors.Is(err, fs.ErrNotExist) {
		return checkpoint{}, nil
	}
	if err != nil {
		return nil, err
	}
	c, err := parseCheckpoint(content)
	if err != nil {
		report(fmt.Errorf("%s is ignored: %w", name, err))
		return checkpoint{}, nil
	}
	return c, nil
}

// checkpointed is what the checkpoint files on disk have.
type checkpointed struct {
	mu struct {
		sync.Mutex
		keys map[partitionKey]bool
	}
}

// note adds the partitions of a file.
func (c *checkpointed) note(of checkpoint) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.noteLocked(of)
}

func (c *checkpointed) noteLocked(of checkpoint) {
	if c.mu.keys == nil {
		c.mu.keys = map[partitionKey]bool{}
	}
	for k := range of {
		c.mu.keys[k] = true
	}
}

// has says whether a file may have an entry for k.
func (c *checkpointed) has(k partitionKey) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.keys[k]
}

// put sets a partition's offset; 0 is what a partition without an entry has.
func (c checkpoint) put(k partitionKey, offset batch.Offset) {
	if offset > 0 {
		c[k] = offset
	}
}
