package api

import (
	"context"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/protocol/wire"
)

// ApiVersions: v0 to v5.
//
// **Behaviour**
//
// Answers with the version table, and from v3 on with the cluster's features. A version that is not served gets a response of v0
// with UNSUPPORTED_VERSION and the table, from which the client picks one that is; the response header is v0 always. A client
// software name or version with odd characters gets INVALID_REQUEST. A client that meant another cluster or
// another broker (v5) gets REBOOTSTRAP_REQUIRED.
//
// **Differences from Apache Kafka**
//
// Only features that hold here are named.
//
// **Versions**
//
//	v3 flexible; client software name and version (KIP-511), features (KIP-584)
//	v4 features whose lowest level is 0 (KAFKA-17011)
//	v5 the cluster and node that the client means (KIP-1242)

func (a *API) apiVersions(_ context.Context, req *Request, m *kmsg.ApiVersionsRequest) kmsg.Response {
	resp := a.versions(req.Version)
	if m.Version < 3 {
		return resp
	}
	switch {
	case !isSoftwareName(m.ClientSoftwareName) || !isSoftwareName(m.ClientSoftwareVersion):
		return a.refuseVersions(req, kerr.InvalidRequest)
	case m.Version >= 5 && !a.isMeant(m):
		return a.refuseVersions(req, kerr.RebootstrapRequired)
	}
	req.Conn.Software, req.Conn.SoftwareVersion = kept(m.ClientSoftwareName), kept(m.ClientSoftwareVersion)
	return resp
}

// kept is the part of a client's name that is kept for as long as its connection lasts: 32 KiB would be what a hundred connections take.
func kept(name string) string {
	const most = 100
	return strings.Clone(name[:min(len(name), most)])
}

// refuseVersions is an answer that has an error and nothing else.
func (a *API) refuseVersions(req *Request, err error) kmsg.Response {
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.Version = req.Version
	resp.ErrorCode = code(err)
	return resp
}

// isMeant reports whether the client talks to the cluster and the broker that it means to.
func (a *API) isMeant(m *kmsg.ApiVersionsRequest) bool {
	if m.ClusterID != nil && *m.ClusterID != a.node.Image().ClusterID {
		return false
	}
	return m.NodeID < 0 || m.NodeID == a.node.NodeID()
}

// isSoftwareName reports whether s is letters and digits with '-' and '.' between them (KIP-511).
func isSoftwareName(s string) bool {
	if s == "" || !isAlphanumeric(s[0]) || !isAlphanumeric(s[len(s)-1]) {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !isAlphanumeric(c) && c != '-' && c != '.' {
			return false
		}
	}
	return true
}

func isAlphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// versions is the whole table, with the features that this broker knows and the levels that the cluster runs at.
func (a *API) versions(version int16) *kmsg.ApiVersionsResponse {
	image := a.node.Image()
	features := []wire.Feature{
		{Name: "group.version", Min: 0, Max: groupVersionMax, Level: image.Feature("group.version")},
		{Name: "metadata.version", Min: metadataVersionMin, Max: metadataVersionMax, Level: image.Feature("metadata.version")},
	}
	return wire.APIVersionsResponse(version, features, int64(image.Version))
}

// The levels of metadata.version whose records are understood: from Kafka 3.3's to 4.4's.
const (
	metadataVersionMin = 7
	metadataVersionMax = 33
)

// groupVersionMax is the level of group.version with the next generation of groups (KIP-848).
const groupVersionMax = 1
