package config

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// rows reads settings without effect from text, one in each line: the name, the type with flags, the default, the limits and the meaning.
//
//	quota.window.num  int  11  1..  How many samples a quota is measured over.
//
// The flags are ",dynamic" and ",hidden". A default of "-" means none, and `""` means the empty text. The limits are "any", a range such as
// "1..", "0..500" or "..5", alternatives such as "none|required", "text" for any text but the empty one, or "version".
func rows(why, text string) []Setting {
	var all []Setting
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, row(why, line))
		}
	}
	return all
}

func row(why, line string) Setting {
	fields := strings.Fields(line)
	if len(fields) < 5 {
		panic(fmt.Sprintf("bug: %q is not NAME TYPE DEFAULT LIMITS MEANING", line))
	}
	kind, flags, _ := strings.Cut(fields[1], ",")
	s := Setting{Name: fields[0], Type: typeNamed(kind), Default: fields[2], Ignored: why, Doc: strings.Join(fields[4:], " ")}
	s.Check = limits(s.Type, fields[3])
	for _, flag := range splitList(flags) {
		switch flag {
		case "dynamic":
			s.Dynamic = true
		case "hidden":
			s.Hidden = true
		default:
			panic(fmt.Sprintf("bug: %s has the flag %q", s.Name, flag))
		}
	}
	switch s.Default {
	case "-":
		s.Default, s.Null = "", true
	case `""`:
		s.Default = ""
	}
	return s
}

func typeNamed(name string) Type {
	for t := range typeNames {
		if typeNames[t] == name {
			return Type(t)
		}
	}
	panic(fmt.Sprintf("bug: no type %q", name))
}

// limits reads a row's limits.
func limits(t Type, text string) check {
	low, high, isRange := strings.Cut(text, "..")
	switch {
	case text == "any":
		return check{}
	case text == "text":
		return notEmpty
	case text == "version":
		return kafkaVersion
	case isRange && high == "":
		return atLeast(mustWhole(low))
	case isRange && t == Double:
		return between(number(low), number(high))
	case isRange:
		return check{"between " + low + " and " + high, between(float64(mustWhole(low)), float64(mustWhole(high))).ok}
	case t == List:
		return listOf(true, strings.Split(text, "|")...)
	}
	return oneOf(strings.Split(text, "|")...)
}

// mustWhole reads a number of the table.
func mustWhole(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(fmt.Sprintf("bug: %q is not a limit", text))
	}
	return n
}

// kafkaVersion is the form of the versions that Kafka up to 3.9 had as settings: 2.8, 0.10.2 or 3.0-IV1.
var kafkaVersion = check{"a version of Kafka such as 3.0-IV1", regexp.MustCompile(`^\d{1,3}\.\d{1,3}(\.\d{1,3})?(-IV\d{1,3})?$`).MatchString}
