package setting

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Known is what there is to say of a setting of groups or of client metrics subscriptions.
type Known struct {
	Of       string // "group" or "client metrics"
	Name     string
	Type     string
	Default  string
	Broker   string // the broker setting that it falls back to, if there is one
	Allowed  string // the limits, if there are any besides the type's
	NoEffect string // why it has none
	Doc      string
}

// Lookup finds the settings of groups and client metrics subscriptions with a name.
func Lookup(name string) []Known {
	var all []Known
	if s := groupSettingNamed(name); s != nil {
		k := Known{Of: "group", Name: name, Type: typeNames[s.typ], Default: s.def, NoEffect: s.idle, Doc: s.doc}
		if broker, ok := s.fallback(); ok {
			k.Broker = broker
		}
		switch {
		case s.one != "":
			k.Allowed = "one of " + strings.ReplaceAll(s.one, "|", ", ")
		case s.typ == kmsg.ConfigTypeInt || s.typ == kmsg.ConfigTypeLong:
			k.Allowed = fmt.Sprintf("at least %d", s.low)
		}
		all = append(all, k)
	}
	if e := Find(ClientMetrics(nil), name); e != nil {
		k := Known{Of: "client metrics", Name: name, Type: typeNames[e.Type], Default: *e.Value, NoEffect: "no receiver of clients' metrics exists here", Doc: e.Doc}
		if name == metricsInterval {
			k.Allowed = fmt.Sprintf("between %d and %d", metricsIntervalMin, metricsIntervalMax)
		}
		all = append(all, k)
	}
	return all
}

// Names lists the settings of groups and client metrics subscriptions.
func Names() []string {
	names := []string{metricsInterval, metricsMatch, metricsNames}
	for i := range groupSettings {
		names = append(names, groupSettings[i].name)
	}
	return names
}

var typeNames = map[kmsg.ConfigType]string{
	kmsg.ConfigTypeBoolean: "boolean", kmsg.ConfigTypeInt: "int", kmsg.ConfigTypeLong: "long", kmsg.ConfigTypeString: "string", kmsg.ConfigTypeList: "list",
}
