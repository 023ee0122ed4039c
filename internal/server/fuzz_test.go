package server

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"
)

// FuzzConnection sends any bytes to a connection. It must end, drop or answer what it began, and give all memory back.
func FuzzConnection(f *testing.F) {
	for _, bad := range hostile {
		f.Add(bad)
		f.Add(append(metadataFrame(1), bad...))
	}
	f.Add(bytes.Join([][]byte{produceFrame(1, []byte{noReply}), fetchFrame(2), metadataFrame(3), produceFrame(4, make([]byte, 5000))}, nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		h := newStub()
		h.patience = 20 * time.Millisecond
		s := New(Options{Handler: h, Log: quiet(), QueuedMaxBytes: 4 << 20})
		client, served := net.Pipe()
		s.accept("PLAINTEXT", served)
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = io.Copy(io.Discard, client)
		}()
		_ = client.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)) // it may rightly wait for a parked fetch
		_, _ = client.Write(data)
		client.Close()
		<-done
		s.wg.Wait()
		if used := s.RequestMemory().Used; used != 0 {
			t.Errorf("%d bytes of the budget were not given back", used)
		}
		if n := len(s.mu.conns); n != 0 {
			t.Errorf("%d connections are left", n)
		}
	})
}
