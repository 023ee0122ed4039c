package groups_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ottla-io/ottla"
	"github.com/ottla-io/ottla/ottlatest"
)

const (
	page = "../consumer-groups.md"
	root = "../../.."
)

// block is a fenced block of the page.
type block struct {
	section, info, text string
	link                string // what the line before it links to, if it is nothing but a link
}

var onlyLink = regexp.MustCompile(`^\[[^]]*\]\(([^)]*)\)$`)

// blocks reads the page.
func blocks(t *testing.T) []block {
	t.Helper()
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var all []block
	section, before := "", ""
	var open *block
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		info, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && open == nil:
			open = &block{section: section, info: info}
			if m := onlyLink.FindStringSubmatch(before); m != nil {
				open.link = m[1]
			}
		case fence:
			all = append(all, *open)
			open = nil
		case open != nil:
			open.text += line + "\n"
		case strings.HasPrefix(line, "## "):
			section = strings.TrimPrefix(line, "## ")
		}
		if line != "" {
			before = line
		}
	}
	if open != nil {
		t.Fatalf("a block of section %q does not end", open.section)
	}
	return all
}

var update = flag.Bool("update", false, "copy the programs into the page")

// copyPrograms puts the programs into the page as they are.
func copyPrograms(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range blocks(t) {
		if file, err := os.ReadFile(filepath.Join("..", b.link)); err == nil && b.info == "go" {
			text = bytes.Replace(text, []byte(b.text), file, 1)
		}
	}
	if err := os.WriteFile(page, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestPrograms checks that each program stands in the page, once and as it is.
func TestPrograms(t *testing.T) {
	if *update {
		copyPrograms(t)
	}
	shown := make(map[string]int)
	for _, b := range blocks(t) {
		if b.info != "go" || b.link == "" {
			continue
		}
		shown[b.link]++
		file, err := os.ReadFile(filepath.Join("..", b.link))
		if err != nil {
			t.Errorf("section %q: %v", b.section, err)
			continue
		}
		if string(file) != b.text {
			t.Errorf("section %q does not show %s as it is; go test ./docs/guide/groups -run TestPrograms -update copies it", b.section, b.link)
		}
	}
	files, err := filepath.Glob("*/main.go")
	if err != nil || len(files) < 10 {
		t.Fatalf("programs: %q, %v", files, err)
	}
	for _, file := range files {
		if file == "owners/main.go" {
			continue // it makes a picture; the page links to it
		}
		if shown["groups/"+file] != 1 {
			t.Errorf("the page shows %s %d times", file, shown["groups/"+file])
		}
	}
}

// programs builds the programs and the ottla command, once, and returns the directory with them. It goes when the tests end.
var programs = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(scratch, "bin")
	build := exec.Command("go", "build", "-o", dir+"/", "./docs/guide/groups/...", "./cmd/ottla")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return dir, nil
})

// scratch is gone when the tests end.
var scratch string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "groups")
	if err != nil {
		panic(err)
	}
	scratch = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// shell runs a command of the page as it stands there, and returns what it writes to standard output.
func shell(t *testing.T, broker *ottla.Server, command string) string {
	t.Helper()
	dir, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	command = strings.ReplaceAll(command, "go run ./docs/guide/groups/", dir+"/")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "OTTLA_BROKERS="+broker.Addr(), "PATH="+dir+":"+os.Getenv("PATH"))
	var out, complaints strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", command, err, out.String(), complaints.String())
	}
	return out.String()
}

// start starts a broker with the topic that the page's first block makes.
func start(t *testing.T, all []block) *ottla.Server {
	t.Helper()
	broker := ottlatest.Start(t, ottlatest.Set("group.initial.rebalance.delay.ms", "0"),
		ottlatest.Set("group.consumer.min.heartbeat.interval.ms", "100"), ottlatest.Set("group.consumer.heartbeat.interval.ms", "100"))
	i := slices.IndexFunc(all, func(b block) bool { return b.info == "sh" })
	if i < 0 || !strings.Contains(all[i].text, "ottla topic create orders") {
		t.Fatal("the first sh block of the page does not make the topic")
	}
	shell(t, broker, all[i].text)
	return broker
}

// TestConsole runs the console blocks: lines that begin with "$ " are commands, those after one what it writes. "…" stands for any one word.
// Blocks of "console any-order" have lines that may come in any order.
func TestConsole(t *testing.T) {
	t.Parallel()
	all := blocks(t)
	sections := make(map[string][]block)
	for _, b := range all {
		if strings.HasPrefix(b.info, "console") {
			sections[b.section] = append(sections[b.section], b)
		}
	}
	if len(sections) < 8 {
		t.Fatalf("only %d sections of the page have console blocks", len(sections))
	}
	for section, blocks := range sections {
		t.Run(section, func(t *testing.T) {
			t.Parallel()
			broker := start(t, all)
			for _, b := range blocks {
				for _, step := range strings.Split("\n"+b.text, "\n$ ")[1:] {
					command, want, _ := strings.Cut(step, "\n")
					got := shell(t, broker, command)
					if !matches(want, got, b.info == "console any-order") {
						t.Errorf("$ %s\n%s\nthe page says:\n%s", command, got, want)
					}
				}
			}
		})
	}
}

// matches compares output with what the page says.
func matches(want, got string, anyOrder bool) bool {
	w, g := strings.Split(strings.TrimSpace(want), "\n"), strings.Split(strings.TrimSpace(got), "\n")
	if anyOrder {
		slices.Sort(w)
		slices.Sort(g)
	}
	byWord := strings.Contains(want, "…") // columns are as wide as what stands in them
	return slices.EqualFunc(w, g, func(w, g string) bool {
		if byWord {
			return slices.EqualFunc(strings.Fields(w), strings.Fields(g), func(w, g string) bool { return w == "…" || w == g })
		}
		return strings.TrimRight(w, " ") == strings.TrimRight(g, " ")
	})
}
