package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// check is a limit: ok judges a trimmed text that already has the right type, allowed describes what it takes.
type check struct {
	allowed string
	ok      func(text string) bool
}

func number(text string) float64 {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return f
}

func atLeast(low int64) check {
	return check{fmt.Sprintf("at least %d", low), func(text string) bool { return number(text) >= float64(low) }}
}

func between(low, high float64) check {
	return check{fmt.Sprintf("between %v and %v", low, high), func(text string) bool {
		n := number(text)
		return n >= low && n <= high
	}}
}

// unlimitedOr takes -1 and what c takes.
func unlimitedOr(c check) check {
	return check{"-1 or " + c.allowed, func(text string) bool { return text == "-1" || c.ok(text) }}
}

// zeroOr takes 0 and what c takes.
func zeroOr(c check) check {
	return check{"0 or " + c.allowed, func(text string) bool { return number(text) == 0 || c.ok(text) }}
}

// positiveOrUnlimited takes any negative number for "no limit", and 1 and more, as Kafka's log.retention.* do.
var positiveOrUnlimited = check{"-1 (no limit) or at least 1", func(text string) bool { return number(text) != 0 }}

func oneOf(values ...string) check {
	return check{"one of " + strings.Join(values, ", "), func(text string) bool { return slices.Contains(values, text) }}
}

// listOf takes lists of the values, an empty list too if empty is set, and no value twice (KIP-1161).
func listOf(empty bool, values ...string) check {
	allowed := "a list of " + strings.Join(values, ", ")
	if empty {
		allowed += ", or empty"
	}
	return check{allowed, func(text string) bool {
		items := splitList(text)
		for i, item := range items {
			if !slices.Contains(values, item) || slices.Contains(items[:i], item) {
				return false
			}
		}
		return empty || len(items) > 0
	}}
}

// throttledReplicas is the form of *.replication.throttled.replicas: empty, "*" or partition:broker pairs.
var throttledReplicas = check{"empty, *, or a list of partition:broker", func(text string) bool {
	if text == "*" {
		return true
	}
	for _, item := range splitList(text) {
		partition, broker, found := strings.Cut(item, ":")
		if !found || !natural(partition) || !natural(broker) {
			return false
		}
	}
	return true
}}

// addressCounts is the form of max.connections.per.ip.overrides: 127.0.0.1:200,some.host:10.
var addressCounts = check{"empty, or a list of address:number", func(text string) bool {
	for _, item := range splitList(text) {
		at := strings.LastIndexByte(item, ':')
		if at <= 0 || !natural(item[at+1:]) {
			return false
		}
	}
	return true
}}

func natural(text string) bool {
	_, err := strconv.ParseUint(text, 10, 31)
	return err == nil
}

var notEmpty = check{"not empty", func(text string) bool { return text != "" }}
