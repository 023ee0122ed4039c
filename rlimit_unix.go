//go:build linux || darwin

package ottla

import "syscall"

// openFilesMax is how many descriptors this process may have open.
func openFilesMax() int {
	var r syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r) != nil {
		return 1024
	}
	return int(min(r.Cur, 1<<20))
}
