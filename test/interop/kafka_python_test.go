package interop

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// kafkaPythonLibs names the directory that has kafka-python 2.0.2, zstandard and six (pip install --target). Without it they
// are looked for where Python looks.
const kafkaPythonLibs = "INTEROP_PYTHON_LIBS"

// python runs python/client.py and returns what it printed to standard output.
func python(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "python3", append([]string{"python/client.py"}, args...)...)
	cmd.Env = os.Environ()
	if libs := os.Getenv(kafkaPythonLibs); libs != "" {
		cmd.Env = append(cmd.Env, "PYTHONPATH="+libs)
	}
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("client.py %q: %w\n%s%s", args, err, out.String(), errs.String())
	}
	return out.String(), nil
}

// TestKafkaPython: kafka-python 2.0.2, which fetches with v4 whatever the broker has, reads and writes every codec. It asks without
// end for a partition that answers with UNSUPPORTED_COMPRESSION_TYPE.
func TestKafkaPython(t *testing.T) {
	t.Parallel()
	if version, err := python(t.Context(), "version"); err != nil || version != "2.0.2\n" {
		report := t.Skipf
		if os.Getenv(kafkaPythonLibs) != "" {
			report = t.Fatalf
		}
		report("python3 has no kafka-python 2.0.2 (pip install --target DIR kafka-python==2.0.2 zstandard six; %s=DIR): found %q, %.200v",
			kafkaPythonLibs, version, err)
	}
	addr := startBroker(t)
	const n = 50
	var want strings.Builder
	for i, r := range numbered(n) {
		fmt.Fprintln(&want, i, string(r.Key), string(r.Value))
	}
	for _, codec := range []string{"gzip", "zstd"} {
		t.Run(codec, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			theirs, ours := "python-reads-"+codec, "python-writes-"+codec
			create(ctx, t, franz{addr: addr}, theirs, nil)
			if err := (franz{addr: addr}).Produce(ctx, theirs, produceOptions{Codec: codec}, numbered(n)); err != nil {
				t.Fatal(err)
			}
			expectCodec(t, addr, theirs, codec)
			if got, err := python(ctx, addr, "read", theirs, fmt.Sprint(n)); err != nil || got != want.String() {
				t.Errorf("kafka-python reads %d lines, %v; want %d", strings.Count(got, "\n"), err, n)
			}
			create(ctx, t, franz{addr: addr}, ours, nil)
			if _, err := python(ctx, addr, "write", ours, codec, fmt.Sprint(n)); err != nil {
				t.Fatal(err)
			}
			expectCodec(t, addr, ours, codec)
			expect(ctx, t, franz{addr: addr}, ours, numbered(n))
		})
	}
}
