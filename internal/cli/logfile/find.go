package logfile

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Find finds the files that paths stand for, in order: a segment's log before its indexes.
func Find(paths []string) ([]string, error) {
	var files []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			if dumpers[filepath.Ext(path)] == nil {
				return nil, fmt.Errorf("%s: must be a .log, .index, .timeindex or .txnindex file", path)
			}
			files = append(files, path)
			continue
		}
		below, err := filesBelow(path)
		if err != nil {
			return nil, err
		}
		if len(below) == 0 {
			return nil, fmt.Errorf("%s: has no segment files", path)
		}
		files = append(files, below...)
	}
	return files, nil
}

func filesBelow(dir string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && dumpers[filepath.Ext(path)] != nil {
			files = append(files, path)
		}
		return err
	})
	slices.SortFunc(files, func(a, b string) int {
		if c := strings.Compare(strings.TrimSuffix(a, filepath.Ext(a)), strings.TrimSuffix(b, filepath.Ext(b))); c != 0 {
			return c
		}
		return slices.Index(extensions, filepath.Ext(a)) - slices.Index(extensions, filepath.Ext(b))
	})
	return files, err
}

var extensions = []string{".log", ".index", ".timeindex", ".txnindex"}
