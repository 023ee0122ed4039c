//go:build linux

package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// asker is a connection that asks one thing at a time, or many at once.
type asker struct {
	conn net.Conn
	r    *bufio.Reader
	buf  []byte
}

// askMax is how long an asker may take for all it does: what takes longer will not end.
const askMax = 2 * time.Minute

func dialAsker(addr string) (*asker, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(now().Add(askMax)); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &asker{conn: conn, r: bufio.NewReaderSize(conn, 16<<10)}, nil
}

func (a *asker) close() { a.conn.Close() }

// ask sends a request and reads its response.
func (a *asker) ask(req kmsg.Request) (kmsg.Response, error) {
	if _, err := a.conn.Write(formatter.AppendRequest(nil, req, 0)); err != nil {
		return nil, err
	}
	return a.answer(req)
}

// askAll sends all requests, then reads their responses, and gives each to fn with its place.
func (a *asker) askAll(reqs []kmsg.Request, fn func(int, kmsg.Response) error) error {
	sent := make(chan error, 1)
	go func() {
		var out []byte
		for _, req := range reqs {
			out = append(out, formatter.AppendRequest(nil, req, 0)...) // it writes the size at the start of what it is given
		}
		_, err := a.conn.Write(out)
		sent <- err
	}()
	for i, req := range reqs {
		resp, err := a.answer(req)
		if err == nil {
			err = fn(i, resp)
		}
		if err != nil {
			return errors.Join(err, a.conn.Close(), <-sent) // or it writes for ever
		}
	}
	return <-sent
}

// answer reads the response to req.
func (a *asker) answer(req kmsg.Request) (kmsg.Response, error) {
	body, err := readFrame(a.r, a.buf)
	if err != nil {
		return nil, err
	}
	a.buf = body
	resp := req.ResponseKind()
	body = body[4:] // correlation id
	if resp.IsFlexible() && resp.Key() != 18 {
		body = body[1:] // no tags
	}
	return resp, resp.ReadFrom(append([]byte(nil), body...)) // responses alias it
}

// failed is a response's error code as an error.
func failed(what string, code int16) error {
	if err := kerr.ErrorForCode(code); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// locate makes the broker coordinate groups, and waits until it does.
func locate(addr string, groups ...string) error {
	a, err := dialAsker(addr)
	if err != nil {
		return err
	}
	defer a.close()
	for _, g := range groups {
		find := kmsg.NewFindCoordinatorRequest()
		find.Version, find.CoordinatorKey = 2, g
		resp, err := a.ask(&find)
		if err == nil {
			err = failed("find coordinator", resp.(*kmsg.FindCoordinatorResponse).ErrorCode)
		}
		if err != nil {
			return err
		}
		if _, err := fetchOffset(a, g, 0); err != nil {
			return err
		}
	}
	return nil
}

// fetchOffset asks for the committed offset of a partition until the group is loaded.
func fetchOffset(a *asker, group string, partition int32) (int64, error) {
	req := kmsg.NewOffsetFetchRequest()
	req.Version, req.Group = 7, group
	req.Topics = append(req.Topics, kmsg.OffsetFetchRequestTopic{Topic: topicName, Partitions: []int32{partition}})
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for range 60_000 {
		resp, err := a.ask(&req)
		if err != nil {
			return 0, err
		}
		fetched := resp.(*kmsg.OffsetFetchResponse)
		switch fetched.ErrorCode {
		case 0:
			p := fetched.Topics[0].Partitions[0]
			return p.Offset, failed("offset fetch", p.ErrorCode)
		case kerr.CoordinatorLoadInProgress.Code, kerr.NotCoordinator.Code:
			<-tick.C
		default:
			return 0, failed("offset fetch", fetched.ErrorCode)
		}
	}
	return 0, errors.New("the group is still being loaded after two minutes")
}

// member is a member of a group.
type member struct {
	group, id  string
	generation int32
	leader     bool
	members    []string // of the leader
}

// joinRequest is a JoinGroup of a consumer, or of a stranger without an id.
func joinRequest(m *member) *kmsg.JoinGroupRequest {
	req := kmsg.NewJoinGroupRequest()
	req.Version, req.Group, req.MemberID, req.ProtocolType = 9, m.group, m.id, "consumer"
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 45_000, 300_000
	p := kmsg.NewJoinGroupRequestProtocol()
	p.Name, p.Metadata = "range", subscription
	req.Protocols = append(req.Protocols, p)
	return &req
}

// subscription is what a consumer of topicName says of itself.
var subscription = func() []byte {
	meta := kmsg.NewConsumerMemberMetadata()
	meta.Version, meta.Topics = 1, []string{topicName}
	return meta.AppendTo(nil)
}()

// assignment is what a leader gives each member: of this size it is much for one.
var assignment = func() []byte {
	as := kmsg.NewConsumerMemberAssignment()
	as.Topics = append(as.Topics, kmsg.ConsumerMemberAssignmentTopic{Topic: topicName, Partitions: []int32{0, 1, 2, 3, 4, 5, 6, 7}})
	return as.AppendTo(nil)
}()

// joined takes a JoinGroup's answer in; again says that it must be asked again, with the id that it gave (KIP-394).
func (m *member) joined(resp kmsg.Response) (again bool, err error) {
	j := resp.(*kmsg.JoinGroupResponse)
	m.id = j.MemberID
	if j.ErrorCode == kerr.MemberIDRequired.Code {
		return true, nil
	}
	m.generation, m.leader = j.Generation, j.LeaderID == j.MemberID
	m.members = m.members[:0]
	for _, other := range j.Members {
		m.members = append(m.members, other.MemberID)
	}
	return false, failed("join", j.ErrorCode)
}

// syncRequest is a SyncGroup; the leader gives each member the same.
func syncRequest(m *member) *kmsg.SyncGroupRequest {
	req := kmsg.NewSyncGroupRequest()
	req.Version, req.Group, req.Generation, req.MemberID = 5, m.group, m.generation, m.id
	req.ProtocolType, req.Protocol = new("consumer"), new("range")
	for _, other := range m.members {
		req.GroupAssignment = append(req.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: other, MemberAssignment: assignment})
	}
	return &req
}

// joinAlone makes m the only member of its group.
func joinAlone(a *asker, members []*member) error {
	for range 2 { // the first join gives the id
		reqs := make([]kmsg.Request, len(members))
		for i, m := range members {
			reqs[i] = joinRequest(m)
		}
		if err := a.askAll(reqs, func(i int, resp kmsg.Response) error {
			_, err := members[i].joined(resp)
			return err
		}); err != nil {
			return err
		}
	}
	reqs := make([]kmsg.Request, len(members))
	for i, m := range members {
		reqs[i] = syncRequest(m)
	}
	return a.askAll(reqs, func(_ int, resp kmsg.Response) error {
		return failed("sync", resp.(*kmsg.SyncGroupResponse).ErrorCode)
	})
}

// commitRequest commits one offset for each of some partitions.
func commitRequest(m *member, offset int64, partitions ...int32) *kmsg.OffsetCommitRequest {
	req := kmsg.NewOffsetCommitRequest()
	req.Version, req.Group, req.MemberID, req.Generation = 8, m.group, m.id, m.generation
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic = topicName
	for _, i := range partitions {
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset = i, offset
		t.Partitions = append(t.Partitions, p)
	}
	req.Topics = append(req.Topics, t)
	return &req
}

func committedError(resp kmsg.Response) error {
	for _, p := range resp.(*kmsg.OffsetCommitResponse).Topics[0].Partitions {
		if p.ErrorCode != 0 {
			return failed("commit", p.ErrorCode)
		}
	}
	return nil
}

// each runs fn for 0 to n-1 at once.
func each(n int, fn func(i int) error) error {
	var wg sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		wg.Go(func() { errs[i] = fn(i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
