//go:build linux || darwin

package host

import "golang.org/x/sys/unix"

// filesWanted is how many descriptors are enough for 10,000 partitions and as many connections.
const filesWanted = 1 << 20

// raiseFiles raises the limit of open descriptors as far as it may, and returns it.
func raiseFiles() (uint64, error) {
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r); err != nil {
		return 0, err
	}
	if most := (unix.Rlimit{Cur: filesWanted, Max: max(r.Max, filesWanted)}); r.Cur < filesWanted && unix.Setrlimit(unix.RLIMIT_NOFILE, &most) == nil {
		return filesWanted, nil // root may go above the hard limit
	}
	if r.Cur < r.Max {
		r.Cur = r.Max
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &r); err != nil {
			return 0, err
		}
	}
	return r.Cur, nil
}
