package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEffect: a setting is read somewhere, or allows only one value, or says that it has no effect.
func TestEffect(t *testing.T) {
	t.Parallel()
	var code strings.Builder
	for _, dir := range []string{"../..", "../cli", "."} {
		names, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %d files, %v", dir, len(names), err)
		}
		for _, name := range names {
			if base := filepath.Base(name); strings.HasPrefix(base, "table") || strings.HasSuffix(base, "_test.go") {
				continue
			}
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			code.Write(text)
		}
	}
	effective := make(map[string]bool)
	read := func(s *Setting) bool { return effective[s.Name] || strings.Contains(code.String(), `"`+s.Name+`"`) }
	all := append(TopicSettings(), Settings()...)
	for range 3 { // as deep as settings fall back to others
		for _, s := range all {
			if read(s) {
				for _, syn := range s.Synonyms {
					effective[syn.Name] = true
				}
			}
		}
	}
	for _, s := range all {
		only := s.Validate(s.Default) == nil && s.Validate("anything else") != nil // nothing but the default is allowed
		if s.Ignored == "" && !read(s) && !only {
			t.Errorf("%s is read nowhere and does not say so", s.Name)
		}
	}
}
