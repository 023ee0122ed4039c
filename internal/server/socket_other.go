//go:build !linux

package server

import "github.com/ottla-io/ottla/internal/api"

// writeRange writes a range of a file.
func (c *conn) writeRange(cut *api.Cut) error { return c.copyRange(cut) }

// peerGone cannot be told here.
func (c *conn) peerGone() bool { return false }
