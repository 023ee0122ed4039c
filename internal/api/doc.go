// Package api answers requests: one file for each API key, named for it (00_produce.go, 01_fetch.go, ...).
//
// A request is answered in two stages. Stage one is [API.Begin]: it runs in the order in which requests came and is cheap (append, take
// offsets). It returns a [Reply], stage two, which may have to wait (for replication, an fsync, bytes to fetch) and then writes
// the response into an [Out]. Keys whose stage one may run while earlier replies are still waiting are early
// ([API.Early]): Produce and Fetch. Every other key is begun when all earlier replies have left, so its handler may
// block and its reply is ready at once; replies of ListOffsets and DeleteRecords may wait for a sync, and early requests
// behind them begin meanwhile.
//
// Invariants:
//  1. A handler never fails: what goes wrong with a request becomes a code in its response, and only in errors.go.
//     An error from Begin is a fault of the frame (or of a produce that wants no answer) and closes the connection.
//  2. Nothing of a request's body is kept after Begin, because the frame goes back to its pool.
//  3. Reply.Poll never waits for a client, another request or a sync. It watches first and looks second, so that
//     nothing is missed between the two.
//  4. A waiting fetch holds offsets only: no bytes, no segment.
//  5. Record bytes are never copied in user space where a range is large (see Out.Range).
//
// Concurrency: an API is shared by all connections and has no lock of its own but the fetch sessions'. Begin is called
// by one goroutine of a connection at a time; a Reply belongs to one goroutine at a time.
//
// Files in reading order: api.go (API, Begin), handlers.go (the table of keys), request.go, reply.go (Reply, Out),
// errors.go, settle.go (waits for syncs), 00_produce.go, stage.go (the appends of a run), 01_fetch.go, fetch_read.go, fetch_encode.go,
// fetch_session.go, address.go (where brokers are reached), audit.go (what changed, in the log), operations.go, observe.go, and the other
// keys by number: admin.go (what they need of the broker),
// configs.go (the settings of topics).
package api
