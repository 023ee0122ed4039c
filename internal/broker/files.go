package broker

import (
	"errors"
	"io/fs"

	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// The files at the top of a data directory. Everything of ours there is a file: Kafka takes each directory for a partition's.
const (
	metaPropertiesFile = "meta.properties"
	markerFile         = ".kafka_cleanshutdown"
	manifestFile       = "ottla.manifest"
	formatFile         = "ottla.format"
	reserveFile        = "ottla.reserve"
	adoptingFile       = "ottla.adopting" // there while partitions without metadata are made topics

	recoveryPointFile = "recovery-point-offset-checkpoint"
	startOffsetFile   = "log-start-offset-checkpoint"
	cleanedFile       = "cleaner-offset-checkpoint"
	highWatermarkFile = "replication-offset-checkpoint"
)

// smallFileMax bounds what is read of a file at the top, in bytes: a manifest of 100,000 partitions has some 10 MiB.
const smallFileMax = 256 << 20

// readSmall reads a whole file; fs.ErrNotExist if it is not there.
func readSmall(files vfs.FS, name string) ([]byte, error) {
	return vfs.ReadFile(files, name, smallFileMax)
}

// writeSmall replaces a file at the top, durably and at once: after a crash it is the old or the new one.
func writeSmall(files vfs.FS, name string, content []byte) error {
	if err := vfs.ReplaceFile(files, name, content); err != nil {
		return err
	}
	return files.SyncDir(".")
}

// removeIfThere removes a file, durably, if there is one.
func removeIfThere(files vfs.FS, name string) error {
	switch err := files.Remove(name); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	return files.SyncDir(".")
}
