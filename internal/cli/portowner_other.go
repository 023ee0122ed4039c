//go:build !linux

package cli

// portOwner is known on Linux only.
func portOwner(string) (pid int, name string, ok bool) { return 0, "", false }
