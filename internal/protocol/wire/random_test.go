package wire

import (
	"math/rand/v2"
	"reflect"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// everyVersion calls f for each served key and version.
func everyVersion(f func(Header)) {
	for _, a := range apis {
		for v := a.Served; v <= a.Max; v++ {
			f(Header{Key: a.Key, Version: v, CorrelationID: 7, Flexible: a.IsFlexible(v)})
		}
	}
}

// randomRequest is a request of h with every field set to something, unknown tagged fields among them.
func randomRequest(r *rand.Rand, h Header) kmsg.Request {
	req := h.Key.Request()
	fill(r, reflect.ValueOf(req).Elem(), 3)
	req.SetVersion(h.Version)
	return req
}

// fill sets v and all in it. Slices have up to most elements.
func fill(r *rand.Rand, v reflect.Value, most int) {
	switch v.Kind() {
	case reflect.Struct:
		fillStruct(r, v, most)
	case reflect.Slice:
		fillSlice(r, v, most)
	case reflect.Pointer:
		if r.IntN(4) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem(), most)
		}
	case reflect.String:
		v.SetString(strings.Repeat("x", r.IntN(12)))
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Array:
		for i := range v.Len() {
			v.Index(i).SetUint(uint64(r.IntN(256)))
		}
	case reflect.Uint8:
		v.SetUint(uint64(r.IntN(256)))
	default:
		v.SetInt(r.Int64N(1<<40) - 3)
	}
}

func fillStruct(r *rand.Rand, v reflect.Value, most int) {
	if tags, ok := reflect.TypeAssert[*kmsg.Tags](v.Addr()); ok {
		for range r.IntN(3) * r.IntN(2) {
			tags.Set(uint32(100+r.IntN(200)), make([]byte, r.IntN(5)))
		}
		return
	}
	for i := range v.NumField() {
		if v.Type().Field(i).IsExported() {
			fill(r, v.Field(i), most)
		}
	}
}

func fillSlice(r *rand.Rand, v reflect.Value, most int) {
	n := r.IntN(most+2) - 1
	if n < 0 {
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), n, n))
	for i := range n {
		fill(r, v.Index(i), most)
	}
}
