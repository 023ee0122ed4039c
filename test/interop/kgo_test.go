package interop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const (
	kgoPackage = "github.com/twmb/franz-go/pkg/kgo"
	kgoTests   = "kgo/tests.txt"
	mustPass   = "pass"
)

// TestKgo runs the franz-go client's own test suite against a broker, straight from the module cache, and holds it
// to kgo/tests.txt: what is listed there as a pass must pass, and no test of the suite may be missing from the list.
func TestKgo(t *testing.T) {
	t.Parallel()
	listed := kgoList(t)
	suite := kgoSuite(t)
	for _, name := range suite {
		if listed[name] == "" {
			t.Errorf("%s of the suite is not in %s: add it with %q or the reason it waits", name, kgoTests, mustPass)
		}
	}
	var wanted []string
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		if !slices.Contains(suite, name) {
			t.Errorf("%s lists %s, and the suite has no such test", kgoTests, name)
		} else if listed[name] == mustPass {
			wanted = append(wanted, name)
		}
	}
	outcomes := runKgo(t, startBroker(t), wanted)
	passed := 0
	for _, name := range wanted {
		if o := outcomes[name]; o.action != "pass" {
			t.Errorf("%s must pass, and its outcome is %q:\n%s", name, o.action, o.output)
			continue
		}
		passed++
	}
	t.Logf("%d of %d tests passed; %d wait", passed, len(wanted), len(listed)-len(wanted))
}

// kgoList reads tests.txt: a name and a word on each line, the word being pass or the reason to wait.
func kgoList(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(kgoTests)
	if err != nil {
		t.Fatal(err)
	}
	reasons := []string{mustPass, "groups", "transactions", "share", "sasl", "never"}
	listed := make(map[string]string)
	for i, line := range strings.Split(string(text), "\n") {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if len(fields) != 2 || !slices.Contains(reasons, fields[1]) || listed[fields[0]] != "" {
			t.Fatalf("%s:%d: %q is not a new name and one of %v", kgoTests, i+1, line, reasons)
		}
		listed[fields[0]] = fields[1]
	}
	return listed
}

// kgoSuite names the tests and fuzz targets of the suite.
func kgoSuite(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("go", "test", "-vet=off", "-list", "^(Test|Fuzz)", kgoPackage).CombinedOutput()
	if err != nil {
		t.Fatalf("list the suite: %v\n%s", err, out)
	}
	names := strings.Fields(string(out))
	return slices.DeleteFunc(names, func(s string) bool { return !strings.HasPrefix(s, "Test") && !strings.HasPrefix(s, "Fuzz") })
}

type kgoOutcome struct {
	action string // pass, fail, skip; empty if the test never ended
	output string
}

// runKgo runs the named tests and tells how each ended.
func runKgo(t *testing.T, addr string, names []string) map[string]kgoOutcome {
	t.Helper()
	cmd := exec.Command("go", "test", "-vet=off", "-json", "-count", "1", "-timeout", "4m", "-parallel", "4",
		"-run", "^("+strings.Join(names, "|")+")$", kgoPackage)
	cmd.Env = append([]string{"KGO_TEST_RECORDS=20000", "KGO_TEST_MAX_TOPIC_PARTS=7", "KGO_LOG_LEVEL=none"}, os.Environ()...)
	cmd.Env = append(cmd.Env, "KGO_SEEDS="+addr, "KGO_TEST_RF=1")
	out, runErr := cmd.Output() // a test that failed is told by its outcome
	outcomes := make(map[string]kgoOutcome)
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var event struct{ Action, Test, Output string }
		if err := dec.Decode(&event); err != nil {
			t.Fatalf("go test -json: %v (%v)", err, runErr)
		}
		name, _, sub := strings.Cut(event.Test, "/")
		o := outcomes[name]
		switch event.Action {
		case "output":
			o.output = fmt.Sprintf("%.8000s", o.output+event.Output)
		case "pass", "fail", "skip":
			if !sub {
				o.action = event.Action
			}
		}
		outcomes[name] = o
	}
	if o := outcomes[""]; o.action != "pass" {
		t.Logf("go test ended with %v:\n%s", runErr, o.output)
	}
	return outcomes
}
