package lint

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// banned words and what to say instead. They are put together here so that this file passes its own test.
var banned = map[string]string{
	"FIX" + "ME":         "open an issue",
	"X" + "XX":           "open an issue",
	"time." + "Sleep(":   "wait for the event, with a deadline",
	"io/" + "ioutil":     "io and os",
	"errUn" + "built":    "build it",
	"<<<<" + "<<<":       "resolve the conflict",
	"TO" + "DO(":         "open an issue",
	"TO" + "DO:":         "open an issue",
	"slog." + "Default(": "take a *slog.Logger",
}

// sleepers may have a banned word, with the reason. Files that use testing/synctest may sleep too: their time is virtual.
var sleepers = map[string]string{
	".golangci.yml":                  "forbids a package by its name",
	"internal/broker/delete_test.go": "polls, with a deadline, for files that nothing tells of",
	"internal/server/server_test.go": "polls, with a deadline, for a place that nothing tells of",
}

var textual = []string{".go", ".md", ".yml", ".yaml", ".txt", ".txtar", ".sh", "", ".mod", ".properties"}

// tree lists the files under the root that the rules are for.
func tree(t *testing.T) []string {
	t.Helper()
	var files []string
	skip := []string{".git", "bin", "ottla-data", "fuzz"}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains(skip, d.Name()) {
			return fs.SkipDir
		}
		if d.Type().IsRegular() && d.Name() != ".git" && slices.Contains(textual, filepath.Ext(path)) {
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestBannedWords(t *testing.T) {
	t.Parallel()
	for _, path := range tree(t) {
		text := read(t, path)
		_, excepted := sleepers[strings.TrimPrefix(path, root+"/")]
		if excepted || strings.Contains(text, `"testing/synctest"`) {
			continue
		}
		for word, instead := range banned {
			if strings.Contains(text, word) {
				t.Errorf("%s has %q: %s", path, word, instead)
			}
		}
	}
}

var link = regexp.MustCompile(`\]\(([^)#:\s]+)(#[^)\s]*)?\)`)

// TestLinks checks that what documents link to inside the repository exists, and that each has a title.
func TestLinks(t *testing.T) {
	t.Parallel()
	for _, path := range tree(t) {
		if filepath.Ext(path) != ".md" {
			continue
		}
		text := read(t, path)
		if !strings.HasPrefix(text, "# ") {
			t.Errorf("%s does not begin with its title", path)
		}
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), m[1])); err != nil {
				t.Errorf("%s links to %s, which is not there", path, m[1])
			}
		}
	}
}

// TestDocs checks that every package says what it is, its invariants, its concurrency and its files.
func TestDocs(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if p.name() == "cmd/ottla" {
			continue // main is a few lines
		}
		if !slices.Contains(p.GoFiles, "doc.go") {
			t.Errorf("%s has no doc.go", p.name())
			continue
		}
		text := read(t, filepath.Join(p.Dir, "doc.go"))
		if n := strings.Count(text, "\n"); n < 8 || n > 60 {
			t.Errorf("%s/doc.go has %d lines; say what it is, its invariants, its concurrency, its files (8 to 60 lines)", p.name(), n)
		}
	}
}

// TestHandlerHeaders checks that each API's file opens with what it serves and how it differs from Kafka.
func TestHandlerHeaders(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob(filepath.Join(root, "internal", "api", "[0-9][0-9]_*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no handlers found: %v", err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		text := read(t, path)
		for _, part := range []string{"**Behaviour**", "**Differences from Apache Kafka**", "**Versions**"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s has no %s in its header", path, part)
			}
		}
	}
}
