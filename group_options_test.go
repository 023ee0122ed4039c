package ottla

import (
	"reflect"
	"testing"

	"github.com/ottla-io/ottla/internal/config"
)

// TestGroupOptions: every setting of groups reaches the machine. Each has a default above zero but for the two named.
func TestGroupOptions(t *testing.T) {
	t.Parallel()
	c, err := config.Load(config.Input{})
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{config: c}
	zero := map[string]bool{"RecordMax": true, "MinAssignmentInterval": true} // the coordinator finds the first; the second's default is 0
	check := func(v reflect.Value) {
		for field, value := range v.Fields() {
			if value.Kind() != reflect.Struct && value.IsZero() != zero[field.Name] {
				t.Errorf("%s is %v", field.Name, value)
			}
		}
	}
	opts := s.groupOptions()
	check(reflect.ValueOf(opts))
	check(reflect.ValueOf(opts.Classic))
	check(reflect.ValueOf(opts.Consumer))
	if opts.Consumer.MaxAssignmentInterval <= opts.Consumer.AssignmentInterval || opts.Consumer.MaxSession <= opts.Consumer.Session {
		t.Errorf("%+v", opts.Consumer)
	}
}
