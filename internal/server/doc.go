// Package server owns listeners and connections: it turns bytes into requests, hands them to the api in runs, and sends the
// replies in order.
//
// One goroutine reads a connection: it takes what the socket has, parses every whole frame and begins them together. If every
// earlier reply has left and the new ones are ready, the reader writes them itself, in one write. Otherwise a second goroutine,
// started for the purpose, waits for the first reply of the queue and writes all that are ready; it ends when the queue is empty.
//
// Invariants:
//  1. Replies leave in the order of their requests.
//  2. Early requests (api.Early) are begun as they are read. Any other is begun when all earlier replies have left, and nothing after it
//     is begun before it was.
//  3. A frame's size is checked before a byte of its body is stored; memory follows the bytes that came, not the size that was claimed.
//  4. An idle connection holds no buffer, and one that waits for the rest of a frame about twice what came of it. Every buffer counts in
//     the budget (queued.max.request.bytes), whatever its size; frames that are not whole hold at most half of it, and three quarters of
//     that half from one address (of IPv6, one /64). One larger frame at a time is let through beside them, so the budget may be
//     exceeded by one frame.
//  5. At most queueMax replies wait on a connection; at the bound it is not read.
//  6. After a fault of a frame nothing more is begun, and earlier replies have lingerTime to leave.
//
// When memory for unfinished frames is short, the reader that needs some closes the connection whose progress was noted the longest ago.
// Progress is a 64th of what the connection holds, so a byte now and then is none. It takes from another address only if that holds as much
// as its own will. A frame that still moves is waited for (graceTime), unless many readers wait: then it is an attack. Requests that are
// complete need nothing of this, so a client whose requests come in one piece never notices.
//
// A connection is fresh until its first request was begun and open from then on; TLS is finished before it is fresh (the listener's
// connections are wrapped), and authentication will stand between the two. Until it is open its frames are kept small.
//
// Concurrency: a conn's reader owns its input. Its queue is under a lock; whoever has set queue.sending, the reader or the writer, is the
// only one who polls and writes. A Server's Serve runs on its caller's goroutine; Close waits for all connections.
//
// Files in reading order: server.go (Options, Server), accept.go (limits on connections), conn.go (a connection's life), reader.go (drain),
// input.go (frames out of bytes), frame.go (what is no frame), buffer.go, budget.go, claim.go and evict.go (memory), queue.go, writer.go, socket_unix.go and
// socket_linux.go (the descriptor), observe.go.
package server
