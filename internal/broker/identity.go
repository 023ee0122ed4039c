package broker

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/ottla-io/ottla/internal/protocol/topic"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// contents are the names at the top of a data directory when the broker comes up, before it has changed anything.
type contents struct {
	dir     string // the directory's path, for messages
	entries []fs.DirEntry
	names   map[string]bool
	parts   []string // of the partitions' directories
}

func readContents(files vfs.FS, dir string) (*contents, error) {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil, err
	}
	c := &contents{dir: dir, entries: entries, names: make(map[string]bool, len(entries))}
	for _, e := range entries {
		c.names[e.Name()] = true
		if name, _, ok := topic.ParseDir(e.Name()); ok && e.IsDir() && name != topic.ClusterMetadata {
			c.parts = append(c.parts, e.Name())
		}
	}
	return c, nil
}

// check refuses a directory in which a file is missing whose absence would be read as a beginning, though the directory has one behind it.
// Each refusal says what would be lost and what to do. See docs/format/README.md for the files that may be missing.
func (c *contents) check() error {
	if !c.names[metaPropertiesFile] {
		return c.checkNew()
	}
	if !c.names[formatFile] {
		return nil // a start that did not come to its end, or another program's directory
	}
	metadata := topic.Dir(topic.ClusterMetadata, 0)
	clean := c.names[markerFile]
	switch {
	case !c.names[metadata]:
		return c.refuse(metadata, "all topics and settings would be forgotten",
			"or remove "+formatFile+" to have the partitions taken over as topics with default settings")
	case len(c.parts) > 0 && !clean && !c.names[recoveryPointFile]:
		return c.refuse(recoveryPointFile, "after a stop that was not clean, logs would be cut at the first damage, below what was acknowledged",
			"or make an empty file of that name to have that done")
	case len(c.parts) > 0 && (!clean || !c.names[manifestFile]) && !c.names[startOffsetFile]:
		return c.refuse(startOffsetFile, "records that were deleted by DeleteRecords would come back", "or make an empty file of that name to let them")
	}
	return nil
}

// checkNew refuses a directory without meta.properties unless it is empty, but for what an aborted first start and file systems leave.
func (c *contents) checkNew() error {
	var found []string
	for _, e := range c.entries {
		name := e.Name()
		switch {
		case name == metaPropertiesFile+".tmp", name == "lost+found":
		case strings.HasPrefix(name, ".") && name != markerFile: // .lock, and what belongs to volumes: .snapshot, .nfs0000...
		default:
			found = append(found, name)
		}
	}
	if len(found) == 0 {
		return nil
	}
	c.parts = found
	return c.refuse(metaPropertiesFile, "it would get a new cluster id, and perhaps another node's id",
		"write it anew (lines version=1, cluster.id=ID and node.id=N), or start with an empty directory")
}

// refuse names the missing file, what is there, what would happen without it, and the way out.
func (c *contents) refuse(missing, harm, way string) error {
	there := "no partitions"
	if n := len(c.parts); n > 0 {
		there = strings.Join(c.parts[:min(n, 3)], ", ")
		if n > 3 {
			there += fmt.Sprintf(" and %d more", n-3)
		}
	}
	return fmt.Errorf("data directory %s has %s, but no %s: %s; restore it from a copy, %s", c.dir, there, missing, harm, way)
}
