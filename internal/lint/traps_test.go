package lint

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var testName = regexp.MustCompile("`([a-z]+)\\.(Test[A-Za-z0-9]+)`")

// TestTrapsHaveTests: every line of traps.md names tests that exist, or says what it waits for.
func TestTrapsHaveTests(t *testing.T) {
	t.Parallel()
	const page = root + "/docs/internals/traps.md"
	exist := make(map[string]bool) // package.Test
	declared := regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9]+)\(`)
	for _, path := range tree(t) {
		if !strings.HasSuffix(path, "_test.go") {
			continue
		}
		for _, m := range declared.FindAllStringSubmatch(read(t, path), -1) {
			exist[filepath.Base(filepath.Dir(path))+"."+m[1]] = true
		}
	}
	lines := 0
	for line := range strings.Lines(read(t, page)) {
		if !regexp.MustCompile(`^\| \d+ \|`).MatchString(line) {
			continue
		}
		lines++
		names := testName.FindAllStringSubmatch(line, -1)
		if len(names) == 0 && !strings.Contains(line, "| waits for ") {
			t.Errorf("no test and nothing to wait for: %s", line)
		}
		for _, m := range names {
			if name := m[1] + "." + m[2]; !exist[name] {
				t.Errorf("there is no %s: %s", name, line)
			}
		}
	}
	if lines < 26 {
		t.Errorf("%s has %d lines, expected 26 or more", page, lines)
	}
}
