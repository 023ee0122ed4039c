package lint

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/ottla-io/ottla"

// Kinds of package. A machine decides and does nothing else (TestPurity); a shell does.
const (
	machine = "machine"
	shell   = "shell"
)

// graph is the import graph, bottom up: a package imports exactly the packages its row names, each of which has a
// row above it. Names are below internal/, but for the root package ("."), ottlatest and cmd/ottla.
var graph = []struct{ name, kind, imports string }{
	{"pattern", machine, ""},
	{"protocol/topic", machine, ""},
	{"protocol/batch", machine, ""},
	{"protocol/wire", machine, "protocol/batch protocol/topic"},

	{"partition/replica", machine, "protocol/batch"},
	{"partition/producers", machine, "protocol/batch"},
	{"cluster/cow", machine, ""},
	{"cluster/meta", machine, "cluster/cow protocol/batch protocol/topic"},

	{"storage/compact", machine, "protocol/batch"},
	{"storage/vfs", shell, ""},
	{"storage/segment", shell, "protocol/batch storage/vfs"},
	{"storage/log", shell, "protocol/batch storage/compact storage/segment storage/vfs"},
	{"storage/journal", shell, "protocol/batch protocol/topic storage/segment storage/vfs"},
	{"storage/repair", shell, "protocol/batch protocol/topic storage/journal storage/segment storage/vfs"},
	{"partition", shell, "partition/producers partition/replica protocol/batch protocol/topic storage/log storage/vfs"},
	{"cluster/controller", shell, "cluster/meta protocol/batch protocol/topic storage/log storage/vfs"},
	{"broker", shell, "cluster/controller cluster/cow cluster/meta partition protocol/batch protocol/topic storage/journal storage/log storage/vfs"},
	{"coordinator/record", machine, "protocol/batch protocol/topic"},
	{"coordinator/offset", machine, "coordinator/record protocol/batch protocol/topic"},
	{"coordinator/assignor", machine, "protocol/topic"},
	{"coordinator/consumer", machine, "cluster/meta coordinator/assignor coordinator/record pattern protocol/topic"},
	{"coordinator/group", machine, "cluster/meta coordinator/consumer coordinator/offset coordinator/record protocol/batch protocol/topic"},
	{"coordinator", shell, "cluster/meta coordinator/consumer coordinator/group coordinator/record partition pattern protocol/batch protocol/topic"},
	{"setting", shell, "pattern"},
	{"ration", shell, "protocol/topic"},
	{"api", shell, "broker cluster/meta partition protocol/batch protocol/topic protocol/wire ration setting storage/log"},
	{"api/aclapi", shell, "api"},
	{"api/configapi", shell, "api cluster/meta protocol/topic setting"},
	{"api/groupapi", shell, "api cluster/meta coordinator/group coordinator/record partition protocol/batch protocol/topic"},
	{"server", shell, "api partition protocol/wire storage/vfs"},
	{"admin", shell, ""},
	{"config", shell, "partition protocol/batch storage/log"},
	{"host", shell, ""},
	{"lograte", shell, ""},
	{".", shell, "admin api api/aclapi api/configapi api/groupapi broker cluster/meta config coordinator coordinator/group host lograte partition server setting storage/vfs"},
	{"ottlatest", shell, "."},
	{"cli/logfile", shell, "coordinator/record protocol/batch"},
	{"cli/session", shell, ""},
	{"cli/consume", shell, "cli/session protocol/batch"},
	{"cli", shell, "host . cli/consume cli/logfile cli/session config protocol/batch setting storage/repair storage/vfs"},
	{"cmd/ottla", shell, "cli"},
}

type pkg struct {
	ImportPath   string
	Dir          string
	Imports      []string
	GoFiles      []string
	TestGoFiles  []string
	XTestGoFiles []string
}

// rowName turns an import path of this module into its name in graph.
func rowName(path string) (string, bool) {
	if path == module {
		return ".", true
	}
	if name, ok := strings.CutPrefix(path, module+"/internal/"); ok {
		return name, true
	}
	return strings.CutPrefix(path, module+"/")
}

func (p pkg) name() string {
	name, _ := rowName(p.ImportPath)
	return name
}

// packages lists the module's packages, but for this one, those of test/ and the programs of docs/.
func packages(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.Command("go", "list", "-e", "-json=ImportPath,Dir,Imports,GoFiles,TestGoFiles,XTestGoFiles", module+"/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var p pkg
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		if p.name() != "lint" && !strings.HasPrefix(p.name(), "test/") && !strings.HasPrefix(p.name(), "docs/") {
			all = append(all, p)
		}
	}
	return all
}

func kind(name string) string {
	for _, row := range graph {
		if row.name == name {
			return row.kind
		}
	}
	return ""
}

func TestGraph(t *testing.T) {
	t.Parallel()
	actual := make(map[string][]string)
	for _, p := range packages(t) {
		actual[p.name()] = []string{}
		for _, imp := range p.Imports {
			if to, ok := rowName(imp); ok {
				actual[p.name()] = append(actual[p.name()], to)
			}
		}
		if kind(p.name()) == "" {
			t.Errorf("%s has no row in graph", p.name())
		}
	}
	above := make(map[string]bool)
	for _, row := range graph {
		want := strings.Fields(row.imports)
		slices.Sort(want)
		for _, to := range want {
			if !above[to] {
				t.Errorf("%s imports %s, which has no row above it", row.name, to)
			}
			if row.kind == machine && kind(to) != machine {
				t.Errorf("%s is a machine and must not import %s, a %s", row.name, to, kind(to))
			}
		}
		got, ok := actual[row.name]
		if slices.Sort(got); !ok || !slices.Equal(got, want) {
			t.Errorf("%s imports %v; its row says %v", row.name, got, want)
		}
		above[row.name] = true
	}
}
