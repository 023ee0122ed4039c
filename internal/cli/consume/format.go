package consume

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ottla-io/ottla/internal/cli/session"
)

// recordWriter returns what turns a record into the bytes to print. The bytes are good until the next call.
func (a *commands) recordWriter(f consumeFlags) (func(*kgo.Record) []byte, error) {
	if f.asJSON || a.Output == "json" {
		return session.JSONLine, nil
	}
	return formatter(f.format)
}

// formatter compiles a format of kcat's and rpk's letters. Where the two differ, a letter without braces is kcat's: %T is the timestamp in
// ms (rpk: the length of the topic), %h all headers in one (rpk: needs braces).
func formatter(format string) (func(*kgo.Record) []byte, error) {
	parts := splitHeaders(kcatLetters(format))
	compiled := make([]*kgo.RecordFormatter, len(parts))
	for i, part := range parts {
		var err error
		if compiled[i], err = kgo.NewRecordFormatter(part); err != nil {
			return nil, session.Usagef("--format %q: %w; `ottla consume --help` lists the letters", format, err)
		}
	}
	var line []byte
	return func(r *kgo.Record) []byte {
		line = line[:0]
		for i, part := range compiled {
			if i > 0 {
				line = appendHeaders(line, r.Headers)
			}
			line = part.AppendRecord(line, r)
		}
		return line
	}, nil
}

// kcatLetters replaces the letters that only kcat has by rpk's.
func kcatLetters(format string) string {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		b.WriteByte(format[i])
		if format[i] != '%' || i+1 == len(format) {
			continue
		}
		i++
		braced := i+1 < len(format) && format[i+1] == '{'
		switch letter := format[i]; {
		case letter == 's':
			b.WriteByte('v')
		case letter == 'S':
			b.WriteByte('V')
		case letter == 'T' && !braced:
			b.WriteByte('d')
		default:
			b.WriteByte(letter)
		}
	}
	return b.String()
}

// splitHeaders cuts a format at each %h without braces.
func splitHeaders(format string) []string {
	parts := []string{""}
	for i := 0; i < len(format); i++ {
		last := len(parts) - 1
		if format[i] != '%' || i+1 == len(format) {
			parts[last] += format[i : i+1]
			continue
		}
		if format[i+1] == 'h' && (i+2 == len(format) || format[i+2] != '{') {
			parts = append(parts, "")
		} else {
			parts[last] += format[i : i+2]
		}
		i++
	}
	return parts
}

func appendHeaders(line []byte, headers []kgo.RecordHeader) []byte {
	for i, h := range headers {
		if i > 0 {
			line = append(line, ',')
		}
		line = append(append(line, h.Key...), '=')
		if h.Value == nil {
			line = append(line, "NULL"...)
		}
		line = append(line, h.Value...)
	}
	return line
}
