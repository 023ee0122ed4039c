//go:build !linux

package host

// PortOwner is known on Linux only.
func PortOwner(string) (pid int, name string, ok bool) { return 0, "", false }
