package config

import (
	"fmt"
	"strings"

	"github.com/magiconair/properties"
)

// assignment is one key and text, from one place.
type assignment struct {
	key, text string
	place     string // for messages: "--set", "OTTLA_LOG_DIRS", "server.properties:12"
	rank      int    // lower stands above higher
}

// parseFile reads Java properties. Each logical line is parsed alone, so that its number is known; references such as
// ${env:HOME} are not expanded, since a file must not be able to read other files.
func parseFile(name, text string) (all []assignment, problems []error) {
	loader := properties.Loader{Encoding: properties.UTF8, DisableExpansion: true}
	for line, part := range logicalLines(text) {
		p, err := loader.LoadBytes([]byte(part))
		if err != nil {
			problems = append(problems, fmt.Errorf("%s:%d: %q is not key=value", name, line, strings.TrimSpace(part)))
			continue
		}
		for _, key := range p.Keys() {
			value, _ := p.Get(key)
			all = append(all, assignment{key: key, text: strings.TrimSpace(value), place: fmt.Sprintf("%s:%d", name, line), rank: rankFile})
		}
	}
	return all, problems
}

// logicalLines yields a file's lines with their numbers from 1; a line whose end is an odd number of backslashes goes on in
// the next one.
func logicalLines(text string) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
		for i := 0; i < len(lines); i++ {
			first, part := i+1, lines[i]
			for !isComment(part) && goesOn(lines[i]) && i+1 < len(lines) {
				i++
				part += "\n" + lines[i]
			}
			if strings.TrimSpace(part) != "" && !isComment(part) && !yield(first, part) {
				return
			}
		}
	}
}

func isComment(line string) bool {
	line = strings.TrimLeft(line, " \t\f")
	return strings.HasPrefix(line, "#") || strings.HasPrefix(line, "!")
}

func goesOn(line string) bool {
	return (len(line)-len(strings.TrimRight(line, `\`)))%2 == 1
}
