package setting_test

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/ottla-io/ottla/internal/setting"
)

// TestKafkaSettings: every setting of groups and client metrics subscriptions of Kafka 3.9 and 4.4 is known, with its type, default and limits,
// can be set, and is listed where it was set (testdata/kafka.tsv is what Kafka's ConfigDefs say).
func TestKafkaSettings(t *testing.T) {
	t.Parallel()
	file, err := os.Open("testdata/kafka.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	facts := 0
	for lines := bufio.NewScanner(file); lines.Scan(); {
		f := strings.Split(lines.Text(), "\t")
		if strings.HasPrefix(f[0], "#") {
			continue
		}
		facts++
		of, name, kind, def, limits, flags := f[0], f[1], f[2], strings.Trim(f[3], `"`), f[4], f[5]
		known := setting.Lookup(name)
		if len(known) != 1 || known[0].Of != map[string]string{"group": "group", "metrics": "client metrics"}[of] {
			t.Errorf("%s setting %s is missing: %v", of, name, known)
			continue
		}
		if k := known[0]; k.Type != kind || def != "null" && k.Default != def {
			t.Errorf("%s: %s with default %q, expected %s with %q", name, k.Type, k.Default, kind, def)
		}
		list, check := setting.Group, setting.CheckGroup(nil)
		if of == "metrics" {
			list, check = func(_ []setting.Entry, o map[string]string) []setting.Entry { return setting.ClientMetrics(o) }, setting.CheckClientMetrics
		}
		text := known[0].Default
		if err := check(name, text); err != nil {
			t.Errorf("%s: the default is refused: %v", name, err)
		}
		if e := setting.Find(listOf(list, name, text), name); e == nil || *e.Value != text || len(e.Synonyms) == 0 || e.Synonyms[0].Name != name {
			t.Errorf("%s was set, and is listed as %v", name, e)
		}
		if shown := setting.Find(list(nil, nil), name) != nil; shown == strings.Contains(flags, "internal") {
			t.Errorf("%s: listed without being set is %v", name, shown)
		}
		checkLimits(t, name, limits, check)
	}
	if facts != 30 {
		t.Errorf("%d settings of Kafka, expected 30", facts)
	}
	for _, name := range setting.Names() {
		if len(setting.Lookup(name)) == 0 {
			t.Errorf("%s is named and not known", name)
		}
	}
}

func listOf(list func([]setting.Entry, map[string]string) []setting.Entry, name, text string) []setting.Entry {
	return list(nil, map[string]string{name: text})
}

func checkLimits(t *testing.T, name, limits string, check func(name, value string) error) {
	t.Helper()
	if low, _, isRange := strings.Cut(limits, ".."); isRange {
		n, err := strconv.Atoi(low)
		if err != nil {
			t.Fatal(err)
		}
		if check(name, low) != nil || check(name, strconv.Itoa(n-1)) == nil {
			t.Errorf("%s: %d has to be taken, and %d refused", name, n, n-1)
		}
	}
	if strings.Contains(limits, "|") {
		for value := range strings.SplitSeq(limits, "|") {
			if err := check(name, value); err != nil {
				t.Errorf("%s=%s: %v", name, value, err)
			}
		}
		for _, value := range []string{"no-such-value", "by_duration:", "by_duration:1h", ""} {
			if check(name, value) == nil {
				t.Errorf("%s=%s is taken", name, value)
			}
		}
	}
}

// TestUnknownKept: keys that another version of Kafka left on a group or a subscription are listed, in order.
func TestUnknownKept(t *testing.T) {
	t.Parallel()
	overrides := map[string]string{"zz.new": "1", "aa.old": "2"}
	for of, entries := range map[string][]setting.Entry{"group": setting.Group(nil, overrides), "client metrics": setting.ClientMetrics(overrides)} {
		for name, text := range overrides {
			if e := setting.Find(entries, name); e == nil || *e.Value != text {
				t.Errorf("%s: %s is %v", of, name, e)
			}
		}
		if entries[0].Name != "aa.old" || entries[len(entries)-1].Name != "zz.new" {
			t.Errorf("%s: not in order", of)
		}
	}
}
