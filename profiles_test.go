package ottla

import (
	"net"
	"testing"
)

// TestProfiles: profiles are served on loopback, and elsewhere only where the setting says so.
func TestProfiles(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		setting, ip string
		want        bool
	}{
		{"loopback", "127.0.0.1", true},
		{"loopback", "127.0.0.2", true},
		{"loopback", "::1", true},
		{"loopback", "0.0.0.0", false},
		{"loopback", "::", false},
		{"loopback", "192.0.2.1", false},
		{"on", "0.0.0.0", true},
		{"off", "127.0.0.1", false},
	} {
		if got := profiles(tt.setting, &net.TCPAddr{IP: net.ParseIP(tt.ip)}); got != tt.want {
			t.Errorf("admin.pprof=%s at %s: got %v, want %v", tt.setting, tt.ip, got, tt.want)
		}
	}
	if profiles("loopback", &net.UnixAddr{}) {
		t.Error("an address that is not TCP counts as loopback")
	}
}
