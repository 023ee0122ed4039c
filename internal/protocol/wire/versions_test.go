package wire

import (
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestTableAgainstKmsg(t *testing.T) {
	t.Parallel()
	for i, a := range apis {
		req := a.Key.Request()
		if a.Max > req.MaxVersion() {
			t.Errorf("%s: max %d, kmsg encodes up to %d", a.Key.Name(), a.Max, req.MaxVersion())
		}
		if a.Min > a.Served || a.Served > a.Max {
			t.Errorf("%s: min %d, served from %d, max %d", a.Key.Name(), a.Min, a.Served, a.Max)
		}
		if i > 0 && a.Key <= apis[i-1].Key {
			t.Errorf("%s is out of order", a.Key.Name())
		}
		if layouts[i].key != a.Key {
			t.Errorf("row %d is %s, its layout %s", i, a.Key.Name(), layouts[i].key.Name())
		}
		for v := a.Min; v <= a.Max; v++ {
			if req.SetVersion(v); req.IsFlexible() != a.IsFlexible(v) {
				t.Errorf("%s v%d: flexible is %v", a.Key.Name(), v, a.IsFlexible(v))
			}
		}
	}
}

func TestAPIVersionsResponse(t *testing.T) {
	t.Parallel()
	features := []Feature{
		{Name: "kraft.version", Min: 0, Max: 1, Level: 1},
		{Name: "metadata.version", Min: 7, Max: 33, Level: 33},
		{Name: "share.version", Min: 0, Max: 2},
	}
	cases := []struct {
		asked, version, code int16
		supported, finalized []string
	}{
		{0, 0, 0, nil, nil},
		{2, 2, 0, nil, nil},
		{3, 3, 0, []string{"metadata.version"}, []string{"kraft.version", "metadata.version"}},
		{5, 5, 0, []string{"kraft.version", "metadata.version", "share.version"}, []string{"kraft.version", "metadata.version"}},
		{6, 0, 35, nil, nil},
		{-1, 0, 35, nil, nil},
	}
	for _, c := range cases {
		h := Header{Key: kmsg.ApiVersions, Version: c.asked, CorrelationID: 3, Flexible: c.asked >= 3}
		frame := AppendResponse([]byte("before"), h, APIVersionsResponse(c.asked, features, 12))[6:]
		if int(binary.BigEndian.Uint32(frame)) != len(frame)-4 || frame[7] != 3 {
			t.Fatalf("v%d: size and correlation id: %x of %d bytes", c.asked, frame[:8], len(frame))
		}
		resp := kmsg.NewPtrApiVersionsResponse()
		resp.Version = c.version
		if err := resp.ReadFrom(frame[8:]); err != nil {
			t.Fatal(err)
		}
		if resp.ErrorCode != c.code || len(resp.ApiKeys) != len(apis) {
			t.Errorf("v%d: code %d and %d keys", c.asked, resp.ErrorCode, len(resp.ApiKeys))
		}
		if k := resp.ApiKeys[0]; k.ApiKey != 0 || k.MinVersion != 0 || k.MaxVersion != 13 {
			t.Errorf("v%d: produce is %+v", c.asked, k)
		}
		var supported, finalized []string
		for _, f := range resp.SupportedFeatures {
			supported = append(supported, f.Name)
		}
		for _, f := range resp.FinalizedFeatures {
			finalized = append(finalized, f.Name)
		}
		if d := cmp.Diff([][]string{c.supported, c.finalized}, [][]string{supported, finalized}, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("v%d: features (-want +got)\n%s", c.asked, d)
		}
	}
}
