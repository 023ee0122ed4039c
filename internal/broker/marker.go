package broker

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strconv"
	"strings"

	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// marker is .kafka_cleanshutdown, whose mere existence says that the last run stopped cleanly (Kafka's CleanShutdownFileHandler).
type marker struct {
	Version     int   `json:"version"`
	BrokerEpoch int64 `json:"brokerEpoch"`
}

// noEpoch stands for a broker epoch that is not known.
const noEpoch = -1

// takeMarker removes the marker, durably, so that a crash from now on is seen as one. clean says that it was there; the epoch is -1 if
// it does not say (Kafka before 4.0 wrote an empty file).
func takeMarker(files vfs.FS) (clean bool, epoch int64, err error) {
	content, err := readSmall(files, markerFile)
	if errors.Is(err, fs.ErrNotExist) {
		return false, noEpoch, nil
	}
	if err != nil {
		return false, noEpoch, err
	}
	m := marker{BrokerEpoch: noEpoch}
	if json.Unmarshal(content, &m) != nil {
		m.BrokerEpoch = noEpoch
	}
	err = removeIfThere(files, markerFile)
	return true, m.BrokerEpoch, err
}

// writeMarker is the last thing a clean stop does. A marker whose sync fails is taken away again: that sync may have lost what the
// marker vouches for.
func writeMarker(files vfs.FS, epoch int64) error {
	content, err := json.Marshal(marker{BrokerEpoch: epoch})
	if err != nil {
		return err
	}
	if err := writeSmall(files, markerFile, content); err != nil {
		_ = files.Remove(markerFile) // if it was renamed to that name at all
		return err
	}
	return nil
}

// formatLevel is the newest layout of a data directory that this program knows. It rises when an older program would misread what a
// newer one wrote.
const formatLevel = 1

// checkFormat refuses a directory that a newer program has written to, and returns the level that it has: 0 if none is written yet.
func checkFormat(files vfs.FS, dir string) (level int, err error) {
	content, err := readSmall(files, formatFile)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if level, err = strconv.Atoi(strings.TrimSpace(string(content))); err != nil || level < 1 {
		return 0, fmt.Errorf("%s/%s holds %.20q, a number of 1 or more is needed", dir, formatFile, content)
	}
	if level > formatLevel {
		return 0, fmt.Errorf("data directory %s has on-disk format %d, this program knows up to %d: start the newer program that wrote it", dir, level, formatLevel)
	}
	return level, nil
}

// begin ends the first start in a directory: from here on, a checkpoint or a metadata log that is not there was taken away. Without room it
// waits for another start.
func (b *Broker) begin(level int, top *top) error {
	if level == formatLevel && top.hasCheckpoints && !top.adopting {
		return nil
	}
	err := b.writeCheckpoints()
	if err == nil && level < formatLevel {
		err = writeSmall(b.opts.FS, formatFile, fmt.Appendf(nil, "%d\n", formatLevel))
	}
	if err == nil {
		err = removeIfThere(b.opts.FS, adoptingFile)
	}
	if err != nil && passes(err) {
		b.log.Warn("cannot write the files at the top of the data directory now", slog.String("dir", b.opts.DataDir), slog.Any("err", err))
		return nil
	}
	return err
}
