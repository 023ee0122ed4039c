package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// flagWords are what flags take, by pflag's names of their types. Texts come out of strings and lists as they are.
var flagWords = map[string]string{
	"bool": "true or false", "int": "a whole number", "int16": "a whole number of at most 16 bits", "int32": "a whole number of at most 32 bits", "int64": "a whole number of at most 64 bits",
	"int32Slice": "whole numbers, comma-separated", "duration": "a time with a unit, such as 500ms, 10s or 1h",
}

// flagError says what a flag takes in place of pflag's error, which speaks of Go's functions.
func flagError(err error) error {
	var bad *pflag.InvalidValueError
	if !errors.As(err, &bad) {
		return err
	}
	f := bad.GetFlag()
	words := flagWords[f.Value.Type()]
	if words == "" {
		words = "of type " + f.Value.Type()
	}
	return fmt.Errorf("--%s %s: must be %s", f.Name, strings.TrimSpace(bad.GetValue()), words)
}
