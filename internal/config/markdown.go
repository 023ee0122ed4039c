package config

import (
	"fmt"
	"strings"
)

// Markdown is docs/reference/config.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString(`# Settings

<!-- Made from the table in internal/config by "go test ./internal/config -update"; edits here are lost. -->

Names, types and defaults are those of Apache Kafka 4.4, and the settings that only 3.9 had are known too, so a server.properties works as it is. A setting comes from, in
this order: ` + "`--set key=value`" + ` on the command line; a variable ` + "`OTTLA_*`" + `; a variable ` + "`KAFKA_*`" + `; the file of
` + "`--config`" + `; its default. A variable is the key in upper case, with ` + "`_`" + ` for a dot, ` + "`__`" + ` for an underscore and
` + "`___`" + ` for a hyphen: ` + "`OTTLA_LOG_RETENTION_HOURS`" + `. ` + "`ottla config explain KEY`" + ` tells where a value came from.

A topic's setting stands above the broker's setting that it falls back to.

## Broker

`)
	writeTable(&b, Settings(), func(s *Setting) string {
		if s.Dynamic {
			return "running"
		}
		return "restart"
	})
	b.WriteString("\n## Topic\n\n")
	writeTable(&b, TopicSettings(), func(*Setting) string { return "running" })
	writeGroups(&b)
	b.WriteString("\n## Accepted, and without effect\n\nThese may stand in a file; when one does, a line at start says why it does nothing. Those that Kafka can change at run time can be changed here too, with AlterConfigs or `ottla config set`, and are kept and shown. What would protect the broker cannot: it stays as it is, and a listener that asks for TLS or SASL is refused.\n\n| setting | why |\n| --- | --- |\n")
	for _, s := range Settings() {
		if s.Ignored != "" {
			fmt.Fprintf(&b, "| `%s` | %s |\n", s.Name, s.Ignored)
		}
	}
	return b.String()
}

// writeGroups writes the settings of groups that do something: each is a setting of the broker without the first word of its name.
func writeGroups(b *strings.Builder) {
	b.WriteString("\n## Group\n\nA consumer group of the next generation (KIP-848) may have its own: `ottla config set group NAME KEY=VALUE`, before the group is " +
		"there or while it runs. The settings of share groups and streams groups are kept and shown, and do nothing yet.\n\n" +
		"| setting | type | allowed | falls back to | meaning |\n| --- | --- | --- | --- | --- |\n")
	for _, s := range Settings() {
		kind, bounded, _ := strings.Cut(s.Name, "consumer.min.")
		own := brokerSettings[kind+"consumer."+bounded]
		if kind != "group." || own == nil {
			continue
		}
		fmt.Fprintf(b, "| `consumer.%s` | %s | from `%s` to `group.consumer.max.%s` | `%s` | %s |\n", bounded, own.Type, s.Name, bounded, own.Name, own.Doc)
	}
}

func writeTable(b *strings.Builder, rows []*Setting, changes func(*Setting) string) {
	b.WriteString("| setting | type | default | allowed | changes | falls back to | meaning |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	for _, s := range rows {
		if s.Ignored != "" && brokerSettings[s.Name] == s {
			continue
		}
		def := "`" + s.Default + "`"
		if s.Null {
			def = "none"
		} else if s.Default == "" {
			def = "empty"
		}
		var back []string
		for _, syn := range s.Synonyms {
			back = append(back, "`"+syn.Name+"`")
		}
		doc := s.Doc
		if s.Ignored != "" {
			doc += " No effect: " + s.Ignored + "."
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s | %s | %s |\n", s.Name, s.Type, def, s.Check.allowed, changes(s), strings.Join(back, ", "), doc)
	}
}
