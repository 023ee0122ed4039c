package group

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// scriptShow shows values of some types in their own way.
var scriptShow = map[reflect.Type]func(any) string{
	reflect.TypeFor[topic.ID]():      func(v any) string { return fmt.Sprintf("id:%d", v.(topic.ID)[15]) },
	reflect.TypeFor[time.Duration](): func(v any) string { return v.(time.Duration).String() },
	reflect.TypeFor[[]byte]():        func(v any) string { return strconv.Quote(string(v.([]byte))) },
	reflect.TypeFor[[]int32]():       func(v any) string { return strings.ReplaceAll(fmt.Sprint(v), " ", ",") },
	reflect.TypeFor[CommitPartition](): func(v any) string {
		p := v.(CommitPartition)
		return showPartition(p.Partition, p.Err)
	},
	reflect.TypeFor[DeletedPartition](): func(v any) string {
		p := v.(DeletedPartition)
		return showPartition(p.Partition, p.Err)
	},
	reflect.TypeFor[FetchedPartition](): func(v any) string {
		p := v.(FetchedPartition)
		s := fmt.Sprintf("%s=%d", showPartition(p.Partition, p.Err), p.Offset)
		if p.LeaderEpoch != batch.NoEpoch {
			s += fmt.Sprintf("@%d", p.LeaderEpoch)
		}
		if p.Metadata != "" {
			s += "/" + showText(p.Metadata)
		}
		return s
	},
}

// show shows v in one line: structs by their fields in order, without those that are nil, empty or false.
func show(v any) string { return showValue(reflect.ValueOf(v), true) }

func showValue(v reflect.Value, named bool) string {
	if !v.IsValid() {
		return "nil"
	}
	if shown, ok := scriptShow[v.Type()]; ok {
		return shown(v.Interface())
	}
	if err, ok := reflect.TypeAssert[error](v); ok {
		return showError(err)
	}
	switch v.Kind() { //nolint:exhaustive // the rest has no parts
	case reflect.Pointer, reflect.Interface:
		return showValue(v.Elem(), named)
	case reflect.Slice, reflect.Array:
		parts := make([]string, v.Len())
		for i := range parts {
			parts[i] = showValue(v.Index(i), false)
		}
		return "[" + strings.Join(parts, " ") + "]"
	case reflect.Struct:
		return showStruct(v, named)
	case reflect.String:
		return showText(v.String())
	}
	return fmt.Sprint(v.Interface())
}

func showError(err error) string {
	if code, ok := errors.AsType[*kerr.Error](err); ok {
		return code.Message
	}
	return strconv.Quote(err.Error())
}

func showText(s string) string {
	switch {
	case len(s) > 200:
		return fmt.Sprintf("%d bytes", len(s))
	case s == "" || strings.ContainsAny(s, " {}[]\"\n"):
		return strconv.Quote(s)
	}
	return s
}

// showPartition is a partition and, if it has one, its error.
func showPartition(partition int32, err error) string {
	if err == nil {
		return strconv.Itoa(int(partition))
	}
	return fmt.Sprintf("%d:%s", partition, showError(err))
}

func showStruct(v reflect.Value, named bool) string {
	var parts []string
	for i := range v.NumField() {
		f := v.Field(i)
		name := strings.ToLower(v.Type().Field(i).Name)
		switch f.Kind() { //nolint:exhaustive // the rest is shown
		case reflect.Pointer, reflect.Slice, reflect.Interface:
			if f.IsNil() {
				continue
			}
		case reflect.Bool, reflect.String, reflect.Array:
			if f.IsZero() {
				continue
			}
		}
		parts = append(parts, name+"="+showValue(f, false))
	}
	prefix := ""
	if named {
		prefix = v.Type().Name()
	}
	return prefix + "{" + strings.Join(parts, " ") + "}"
}

// fillInput is in with its caller and the fields that args name.
func fillInput(t *testing.T, in Input, caller Caller, args []datadriven.CmdArg) Input {
	t.Helper()
	v := reflect.New(reflect.TypeOf(in)).Elem()
	v.Set(reflect.ValueOf(in))
	v.FieldByName("Caller").Set(reflect.ValueOf(caller))
	for _, arg := range args {
		setField(t, v, arg)
	}
	return v.Interface().(Input)
}

// setFields sets fields of the struct that to points at.
func setFields(t *testing.T, to any, args []datadriven.CmdArg) {
	t.Helper()
	for _, arg := range args {
		setField(t, reflect.ValueOf(to).Elem(), arg)
	}
}

// setField sets one field, whose name may be a path (classic.maxsize).
func setField(t *testing.T, v reflect.Value, arg datadriven.CmdArg) {
	t.Helper()
	for part := range strings.SplitSeq(arg.Key, ".") {
		v = v.FieldByNameFunc(func(name string) bool { return strings.EqualFold(name, part) })
		if !v.IsValid() {
			t.Fatalf("no field %q", arg.Key)
		}
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	text := strings.Join(arg.Vals, ",")
	var err error
	var n int64
	switch {
	case v.Type() == reflect.TypeFor[time.Duration]():
		var d time.Duration
		d, err = time.ParseDuration(text)
		v.SetInt(int64(d))
	case v.Kind() == reflect.String:
		v.SetString(text)
	case v.Kind() == reflect.Bool:
		v.SetBool(text == "" || text == "true")
	case v.CanInt():
		n, err = strconv.ParseInt(text, 10, 64)
		v.SetInt(n)
	case v.Type() == reflect.TypeFor[[]string]():
		list := []string{}
		for part := range strings.SplitSeq(text, ",") {
			if part != "" {
				list = append(list, part)
			}
		}
		v.Set(reflect.ValueOf(list))
	case v.Type() == reflect.TypeFor[Filter]():
		v.Set(reflect.ValueOf(FilterOf(strings.Split(text, ","))))
	default:
		t.Fatalf("field %q of type %s is not set by an argument", arg.Key, v.Type())
	}
	if err != nil {
		t.Fatalf("field %q: %v", arg.Key, err)
	}
}
