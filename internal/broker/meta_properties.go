package broker

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/ottla-io/ottla/internal/protocol/topic"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// metaProperties say whose a data directory is (Kafka's MetaProperties, version 1).
type metaProperties struct {
	clusterID   string
	nodeID      int32
	directoryID topic.ID
}

// randomID draws an id as Kafka's Uuid.randomUuid does: version 4, not reserved, and no text that looks like a flag.
func randomID() topic.ID {
	for {
		var id topic.ID
		rand.Read(id[:])
		id[6] = id[6]&0x0f | 0x40
		id[8] = id[8]&0x3f | 0x80
		if !strings.HasPrefix(id.String(), "-") {
			return id
		}
	}
}

// StoredNode is the id of the node that the data directory belongs to; ok is false if it belongs to none yet. dir is its name, for messages.
func StoredNode(files vfs.FS, dir string) (id int32, ok bool, err error) {
	p, err := readMetaProperties(files, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	return p.nodeID, err == nil, err
}

// readMetaProperties reads meta.properties; the error is fs.ErrNotExist, perhaps wrapped, if it is not there.
func readMetaProperties(files vfs.FS, dir string) (metaProperties, error) {
	content, err := readSmall(files, metaPropertiesFile)
	if err != nil {
		return metaProperties{}, err
	}
	p, err := parseMetaProperties(content)
	if err != nil {
		return metaProperties{}, fmt.Errorf("%s/%s: %w; restore it, or start with another data directory", dir, metaPropertiesFile, err)
	}
	return p, nil
}

// loadMetaProperties reads meta.properties or, in a new directory, writes it. wantCluster is empty if any will do.
func loadMetaProperties(files vfs.FS, dir string, wantNode int32, wantCluster string) (metaProperties, error) {
	p, err := readMetaProperties(files, dir)
	if errors.Is(err, fs.ErrNotExist) {
		p = metaProperties{clusterID: wantCluster, nodeID: wantNode, directoryID: randomID()}
		if p.clusterID == "" {
			p.clusterID = randomID().String()
		}
		return p, writeSmall(files, metaPropertiesFile, p.encode())
	}
	if err != nil {
		return metaProperties{}, err
	}
	if wantCluster != "" && p.clusterID != wantCluster {
		return metaProperties{}, fmt.Errorf("data directory %s belongs to cluster %s, not to %s: start with another data directory", dir, p.clusterID, wantCluster)
	}
	if p.nodeID != wantNode {
		return metaProperties{}, fmt.Errorf("data directory %s belongs to node %d, not to node %d: set node.id=%d or start with another data directory",
			dir, p.nodeID, wantNode, p.nodeID)
	}
	if p.directoryID == (topic.ID{}) {
		p.directoryID = randomID()
		return p, writeSmall(files, metaPropertiesFile, p.encode())
	}
	return p, nil
}

func (p metaProperties) encode() []byte {
	return fmt.Appendf(nil, "#\nversion=1\ncluster.id=%s\nnode.id=%d\ndirectory.id=%s\n", p.clusterID, p.nodeID, p.directoryID)
}

// parseMetaProperties reads version 1, and version 0 as Kafka wrote it before KRaft.
func parseMetaProperties(content []byte) (metaProperties, error) {
	values := map[string]string{}
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			return metaProperties{}, fmt.Errorf("line %.80q is not key=value", line)
		}
		values[strings.TrimSpace(key)] = strings.TrimSpace(value)
	}
	key := "node.id"
	switch version := values["version"]; version {
	case "1":
	case "", "0":
		key = "broker.id"
	default:
		return metaProperties{}, fmt.Errorf("version %.20q is not known, 1 is the newest that is", version)
	}
	return propertiesOf(values, key)
}

func propertiesOf(values map[string]string, nodeKey string) (metaProperties, error) {
	p := metaProperties{clusterID: values["cluster.id"]}
	if p.clusterID == "" {
		return p, errors.New("cluster.id is missing")
	}
	id, err := strconv.ParseInt(values[nodeKey], 10, 32)
	if err != nil || id < 0 {
		return p, fmt.Errorf("%s is %.40q, a number of 0 or more is needed", nodeKey, values[nodeKey])
	}
	p.nodeID = int32(id)
	if text, ok := values["directory.id"]; ok {
		if p.directoryID, err = topic.ParseID(text); err != nil {
			return p, fmt.Errorf("directory.id is %.40q: %w", text, err)
		}
	}
	return p, nil
}
