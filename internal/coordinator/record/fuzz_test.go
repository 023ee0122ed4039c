package record

import (
	"bytes"
	"errors"
	"testing"
)

// FuzzDecode: nothing panics, and what can be read means the same when it is written and read again.
func FuzzDecode(f *testing.F) {
	_, records := golden(f)
	for _, r := range records {
		f.Add(r.Key, r.Value, r.Value == nil)
	}
	f.Fuzz(func(t *testing.T, key, value []byte, tombstone bool) {
		if tombstone {
			value = nil
		} else if value == nil {
			value = []byte{}
		}
		first, err := Decode(key, value)
		if err != nil {
			if first != nil || !errors.Is(err, ErrMalformed) {
				t.Fatalf("%v, %v: expected an ErrMalformed alone", first, err)
			}
			return
		}
		r := first.Record()
		if _, offset := first.(Offset); !bytes.Equal(r.Key, key) && (!offset || !bytes.Equal(r.Key[2:], key[2:])) {
			t.Fatalf("key %x became %x", key, r.Key)
		}
		if (r.Value == nil) != tombstone {
			t.Fatalf("a tombstone: %t, then %t", tombstone, r.Value == nil)
		}
		second, err := Decode(r.Key, r.Value)
		if err != nil {
			t.Fatalf("%#v, written as %x %x: %v", first, r.Key, r.Value, err)
		}
		if diff := same(first, second); diff != "" {
			t.Fatal(diff)
		}
	})
}
