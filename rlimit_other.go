//go:build !linux && !darwin

package ottla

// openFilesMax is how many descriptors this process may have open.
func openFilesMax() int { return 8192 }
