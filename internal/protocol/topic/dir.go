package topic

import (
	"encoding/hex"
	"strconv"
	"strings"
)

const (
	// fileNameMax is the longest name of a directory entry, in bytes (NAME_MAX).
	fileNameMax = 255
	// deleteSuffix ends the name of a partition's directory that is being deleted.
	deleteSuffix = "-delete"
)

// Dir is the directory of a partition's log: "<topic>-<partition>". The name must have passed Check.
func Dir(name string, index int32) string {
	return name + "-" + strconv.Itoa(int(index))
}

// ParseDir takes a directory's name apart. It is false for what Dir does not give: other files, directories being
// deleted, names that Check refuses, numbers written in another way ("t-01").
func ParseDir(dir string) (name string, index int32, ok bool) {
	i := strings.LastIndexByte(dir, '-')
	if i < 0 {
		return "", 0, false
	}
	n, err := strconv.ParseInt(dir[i+1:], 10, 32)
	if err != nil || n < 0 || Check(dir[:i]) != nil || Dir(dir[:i], int32(n)) != dir {
		return "", 0, false
	}
	return dir[:i], int32(n), true
}

// DeleteDir is what a partition's directory is renamed to before it is removed:
// "<topic>-<partition>.<unique>-delete", unique in hexadecimal. The topic is cut so that the whole fits a directory
// entry (Kafka's LocalLog.logDeleteDirName). unique should be random: a topic may be deleted twice.
func DeleteDir(name string, index int32, unique [16]byte) string {
	end := "-" + strconv.Itoa(int(index)) + "." + hex.EncodeToString(unique[:]) + deleteSuffix
	return name[:min(len(name), fileNameMax-len(end))] + end
}

// IsDeleteDir reports whether dir is a name of the form that DeleteDir gives, so that what an interrupted delete left
// can be removed after a start.
func IsDeleteDir(dir string) bool {
	rest, ok := strings.CutSuffix(dir, deleteSuffix)
	if !ok {
		return false
	}
	i := strings.LastIndexByte(rest, '.')
	if i < 0 || len(rest[i+1:]) != 2*len(ID{}) {
		return false
	}
	if _, err := hex.DecodeString(rest[i+1:]); err != nil {
		return false
	}
	j := strings.LastIndexByte(rest[:i], '-')
	if j < 0 {
		return false
	}
	n, err := strconv.ParseInt(rest[j+1:i], 10, 32)
	return err == nil && n >= 0
}
