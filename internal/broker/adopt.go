package broker

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// findAdoptable makes topics of the partitions in a directory without metadata: the log directory of a broker that is no controller. Next to
// metadata nothing is adopted, but what an adoption that did not come to its end has left.
func (b *Broker) findAdoptable(top *top) ([]meta.AdoptedTopic, error) {
	if !top.adopting {
		return nil, nil
	}
	keys := make([]partitionKey, 0, len(top.dirs))
	for k := range top.dirs {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, partitionKey.compare)
	var topics []meta.AdoptedTopic
	for _, k := range keys {
		if b.control.Image().Topic(k.topic) != nil {
			continue // adopted before
		}
		if n := len(topics); n == 0 || topics[n-1].Name != k.topic {
			topics = append(topics, meta.AdoptedTopic{Name: k.topic})
		}
		if err := b.adopt(&topics[len(topics)-1], k); err != nil {
			return nil, err
		}
	}
	topics = slices.DeleteFunc(topics, func(t meta.AdoptedTopic) bool { return len(t.Epochs) == 0 })
	b.log.Info("the directory has partitions and no metadata: their topics are adopted", slog.String("dir", b.opts.DataDir),
		slog.Int("topics", len(topics)), slog.Int("partitions", len(keys)))
	return topics, nil
}

// adoptMax is the highest partition that is adopted: an index is a number in a directory's name, and all below it are made.
const adoptMax = meta.MaxRecords - 2

// adopt adds one partition to its topic. Those missing below it become empty ones.
func (b *Broker) adopt(t *meta.AdoptedTopic, k partitionKey) error {
	dir := topic.Dir(k.topic, k.index)
	if k.index > adoptMax {
		b.log.Warn("partition is not adopted: its number is too high", slog.String("dir", dir), slog.Int("limit", adoptMax))
		return nil
	}
	id, err := readTopicID(b.opts.FS, dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.log.Warn("partition.metadata cannot be read", slog.String("dir", dir), slog.Any("err", err))
	}
	if t.ID == (topic.ID{}) {
		t.ID = id
	}
	if t.ID == (topic.ID{}) {
		t.ID = randomID()
	}
	for int32(len(t.Epochs)) < k.index {
		b.log.Warn("partition is not in the directory; it begins empty", slog.String("topic", k.topic), slog.Int("partition", len(t.Epochs)))
		t.Epochs = append(t.Epochs, batch.NoEpoch)
	}
	epoch, err := b.lastEpoch(dir)
	if err != nil {
		return err
	}
	t.Epochs = append(t.Epochs, epoch)
	return nil
}

// lastEpoch is the newest leader epoch in a partition's leader-epoch-checkpoint; NoEpoch if it has none that can be read.
func (b *Broker) lastEpoch(dir string) (batch.Epoch, error) {
	content, err := readSmall(b.opts.FS, path.Join(dir, "leader-epoch-checkpoint"))
	if errors.Is(err, fs.ErrNotExist) {
		return batch.NoEpoch, nil
	}
	if err != nil {
		return batch.NoEpoch, err
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	newest := batch.NoEpoch
	for _, line := range lines[min(2, len(lines)):] {
		text, _, _ := strings.Cut(line, " ")
		if epoch, err := strconv.ParseInt(text, 10, 32); err == nil {
			newest = max(newest, batch.Epoch(epoch))
		}
	}
	return newest, nil
}

// readTopicID reads whose a partition's directory is from its partition.metadata (KIP-516); fs.ErrNotExist if it does not say.
func readTopicID(files vfs.FS, dir string) (topic.ID, error) {
	name := path.Join(dir, "partition.metadata")
	content, err := readSmall(files, name)
	if err != nil {
		return topic.ID{}, err
	}
	for line := range strings.Lines(string(content)) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "topic_id:"); ok {
			id, err := topic.ParseID(strings.TrimSpace(text))
			if err != nil {
				return topic.ID{}, fmt.Errorf("%s: %w", name, err)
			}
			return id, nil
		}
	}
	return topic.ID{}, fmt.Errorf("%s has no topic_id", name)
}
