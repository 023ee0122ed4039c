package topic

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"pgregory.net/rapid"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "A.b_c-9", "...", ".a", "-", "__consumer_offsets", strings.Repeat("x", 249)} {
		if err := Check(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	refused := map[string]string{
		"":                       "empty",
		".":                      `"."`,
		"..":                     `".."`,
		"a/b":                    `"/"`,
		`a\b`:                    `"\\"`,
		"a\x00":                  `"\x00"`,
		"a b":                    `" "`,
		"ä":                      `"\xc3"`,
		"../../etc/passwd":       `"/"`,
		strings.Repeat("x", 250): "250 bytes, the limit is 249",
		strings.Repeat("\n", 99): `\n"...`,
	}
	for name, says := range refused {
		err := Check(name)
		if !errors.Is(err, kerr.InvalidTopicException) {
			t.Errorf("%q: %v", name, err)
			continue
		}
		if !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v does not say %s", name, err, says)
		}
		if strings.ContainsAny(err.Error(), "\n\x00") || len(err.Error()) > 512 {
			t.Errorf("%q: unsafe message %q", name, err)
		}
	}
}

// Nothing that passes can leave its directory, and every partition has a directory of its own.
func checkName(t interface{ Fatalf(string, ...any) }, name string, index int32) {
	if Check(name) != nil {
		if _, _, ok := ParseDir(Dir(name, index)); ok {
			t.Fatalf("ParseDir accepts the directory of the refused name %q", name)
		}
		return
	}
	if !filepath.IsLocal(name) || filepath.Base(name) != name {
		t.Fatalf("%q leaves its directory", name)
	}
	dir, gone := Dir(name, index), DeleteDir(name, index, [16]byte{0xab})
	for _, d := range []string{dir, gone} {
		if !filepath.IsLocal(d) || filepath.Base(d) != d || len(d) > 255 && d == gone {
			t.Fatalf("%q leaves its directory or is too long", d)
		}
	}
	n, i, ok := ParseDir(dir)
	if !ok || n != name || i != index || IsDeleteDir(dir) {
		t.Fatalf("%q parses to %q %d %v", dir, n, i, ok)
	}
	if _, _, ok := ParseDir(gone); ok || !IsDeleteDir(gone) {
		t.Fatalf("%q is not told apart", gone)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-zA-Z0-9._/\x00-]{0,6}|[a-z.-]{230,251}`).Draw(t, "name")
		checkName(t, name, rapid.Int32Min(0).Draw(t, "index"))
	})
}

func FuzzName(f *testing.F) {
	for _, s := range []string{"a", "..", "a-1", "a/..", "t-0.0123456789abcdef0123456789abcdef-delete", strings.Repeat("y", 249)} {
		f.Add(s, int32(0))
	}
	f.Fuzz(func(t *testing.T, s string, index int32) {
		checkName(t, s, index&0x7fffffff)
		if name, index, ok := ParseDir(s); ok && Dir(name, index) != s {
			t.Fatalf("%q parses to %q %d", s, name, index)
		}
	})
}

func TestDirs(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"", "a", "a-", "-1", "a-01", "a-+1", "a--1x", "a-2147483648", "..-1x", "a/b-1", ".-0x"} {
		if name, index, ok := ParseDir(dir); ok {
			t.Errorf("%q parses to %q %d", dir, name, index)
		}
	}
	if name, index, ok := ParseDir("my-topic-12"); !ok || name != "my-topic" || index != 12 {
		t.Errorf("my-topic-12 parses to %q %d %v", name, index, ok)
	}
	const hex32 = "0f000000000000000000000000000000"
	if got, want := DeleteDir("t", 3, [16]byte{0x0f}), "t-3."+hex32+"-delete"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	long := DeleteDir(strings.Repeat("x", 249), 3, [16]byte{0x0f})
	if want := strings.Repeat("x", 255-42) + "-3." + hex32 + "-delete"; long != want {
		t.Errorf("got %s, want %s", long, want)
	}
	for _, dir := range []string{"a-delete", "a-1.x-delete", "a-x." + hex32 + "-delete", "a." + hex32 + "-delete", "a-1." + hex32} {
		if IsDeleteDir(dir) {
			t.Errorf("%q is taken for a directory to delete", dir)
		}
	}
}

func TestCollides(t *testing.T) {
	t.Parallel()
	cases := []struct {
		a, b string
		want bool
	}{
		{"a.b", "a_b", true}, {"a.b", "a.b", true}, {"a_b.c", "a.b_c", true}, {"a.b", "a-b", false}, {"a.b", "a.bc", false},
	}
	for _, c := range cases {
		if (Unify(c.a) == Unify(c.b)) != c.want {
			t.Errorf("%q and %q: want %v", c.a, c.b, c.want)
		}
	}
	if !MayCollide("a.b") || !MayCollide("a_b") || MayCollide("a-b") {
		t.Error("'.' and '_' may collide, '-' may not")
	}
	if !IsInternal(ConsumerOffsets) || !IsInternal(TransactionState) || !IsInternal(ShareGroupState) || IsInternal("a") {
		t.Error("internal topics are those three")
	}
}

func TestID(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		id := ID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
		for _, s := range []string{id.String(), id.String() + "=="} {
			if got, err := ParseID(s); err != nil || got != id {
				t.Fatalf("%s parses to %v, %v", s, got, err)
			}
		}
	})
	for _, s := range []string{"", "x", strings.Repeat("A", 21), strings.Repeat("A", 23), strings.Repeat("A", 21) + "/", strings.Repeat("/", 9999)} {
		if _, err := ParseID(s); err == nil || len(err.Error()) > 400 {
			t.Errorf("%.30q: %v", s, err)
		}
	}
}
