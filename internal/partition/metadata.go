package partition

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// metadataFile names the topic that a partition's directory belongs to (KIP-516, Kafka's PartitionMetadataFile).
const metadataFile = "partition.metadata"

// metadataMax bounds what is read of it; two short lines are expected.
const metadataMax = 256

// checkMetadata compares the directory's topic id with id. It is false if the file is to be written: it is missing, or does not say an
// id, and then damage says what was found. The metadata log is asked which topics there are, so the file adds nothing to it but the sign
// of a directory that an older topic of the same name has left. A topic without id is not checked.
func checkMetadata(files vfs.FS, dir string, id ID) (present bool, damage, err error) {
	if id.TopicID == (topic.ID{}) {
		return true, nil, nil
	}
	name := path.Join(dir, metadataFile)
	text, err := readFile(files, name, metadataMax)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil, nil
	}
	var found topic.ID
	if err == nil {
		found, err = parseMetadata(string(text))
	}
	if found == (topic.ID{}) {
		found = id.TopicID // it names none
	}
	switch {
	case errors.Is(err, batch.ErrCorrupt) && found == id.TopicID:
		return false, fmt.Errorf("%s: %w", name, err), nil
	case err != nil && !errors.Is(err, batch.ErrCorrupt):
		return false, nil, fmt.Errorf("read %s: %w", name, err)
	case found != id.TopicID:
		return false, nil, fmt.Errorf("%s says topic id %s, expected %s of topic %s: the directory is an older topic's of that name; "+
			"move it away, or remove the file if the records are this topic's: %w", name, found, id.TopicID, id.Topic, kerr.InconsistentTopicID)
	}
	return true, nil, nil
}

func formatMetadata(id topic.ID) string { return "version: 0\ntopic_id: " + id.String() }

// parseMetadata returns the topic id. With an error that is batch.ErrCorrupt it may return one too: the one of a file that is wrong in
// something else.
func parseMetadata(text string) (topic.ID, error) {
	version, rest, _ := strings.Cut(text, "\n")
	value, ok := strings.CutPrefix(strings.TrimSpace(rest), "topic_id:")
	if !ok {
		return topic.ID{}, fmt.Errorf("second line is %.40q, expected %q: %w", rest, "topic_id: ID", batch.ErrCorrupt)
	}
	id, err := topic.ParseID(strings.TrimSpace(value))
	if err != nil {
		return topic.ID{}, fmt.Errorf("%w: %w", err, batch.ErrCorrupt)
	}
	if version = strings.TrimSpace(version); version != "version: 0" {
		return id, fmt.Errorf("first line is %.40q, expected %q: %w", version, "version: 0", batch.ErrCorrupt)
	}
	return id, nil
}

// writeMetadata writes the file whole or not at all. Its directory entry is not synced: a file that is missing after
// a crash is written again.
func writeMetadata(files vfs.FS, dir string, id topic.ID) error {
	name := path.Join(dir, metadataFile)
	if err := vfs.ReplaceFile(files, name, []byte(formatMetadata(id))); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
