package config

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
)

// Listener is where to listen, or where clients are told to connect.
type Listener struct {
	Name string
	Host string // "" means all interfaces
	Port uint16
}

// Address is the listener's HOST:PORT.
func (l Listener) Address() string { return net.JoinHostPort(l.Host, strconv.Itoa(int(l.Port))) }

// Open reports whether other machines can reach the listener.
func (l Listener) Open() bool { return Open(l.Address()) }

// Open reports whether other machines can reach a listener on HOST:PORT.
func Open(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil || host == "localhost" {
		return false
	}
	ip := net.ParseIP(host)
	return ip == nil || !ip.IsLoopback()
}

// Listeners resolves listeners and advertised.listeners. Of the latter there are none if the address that a client reached
// shall be the one it is told. Notices tell of what is open to the network. The error joins everything that is wrong; a Config that was
// loaded has none.
func (c *Config) Listeners() (listen, advertise []Listener, notices []Notice, err error) {
	protocols, problems := c.protocols()
	if len(problems) > 0 {
		protocols = nil // what is missing there is no further fault
	}
	value := c.Value("listeners")
	advertised := c.Value("advertised.listeners")
	derived := false
	if value.Source == Default && strings.HasPrefix(advertised.Place, "KAFKA_") {
		// Kafka's container image listens on all interfaces at the advertised ports.
		value, derived = Value{Name: "listeners", Text: anyHost(advertised.Text), Place: advertised.Place}, true
	}
	listen, wrong := c.parseListeners(value, protocols)
	if len(listen) == 0 && len(wrong) == 0 && protocols != nil {
		wrong = append(wrong, fmt.Errorf("listeners=%s: has no listener for clients, only the controller's (%s)", value.Text, value.Place))
	}
	if !derived { // else it is told of advertised.listeners
		problems = append(problems, wrong...)
	}
	var wrongToo []error
	advertise, wrongToo = c.parseListeners(advertised, protocols)
	problems = append(problems, wrongToo...)
	for _, a := range advertise {
		if len(wrong) == 0 { // else a's listener may be among those
			problems = append(problems, checkAdvertised(a, listen, advertised))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return nil, nil, nil, err
	}
	return listen, advertise, listenerNotices(listen, advertise), nil
}

// nameListeners gives the addresses of --listen, which come without one, a listener name: PLAINTEXT, or where
// listener.security.protocol.map has no such name, the first one there without security that is not the controller's. So an address
// alone is enough beside a map such as "CLIENTS:PLAINTEXT,CONTROLLER:PLAINTEXT".
func (c *Config) nameListeners() {
	given := c.static["listeners"]
	if len(given) == 0 || given[0].rank != rankFlag {
		return
	}
	items := splitList(given[0].text)
	for i, item := range items {
		if !strings.Contains(item, "://") {
			items[i] = c.plainName() + "://" + item
		}
	}
	given[0].text = strings.Join(items, ",")
}

// plainName is the listener name of an address alone.
func (c *Config) plainName() string {
	controllers := splitList(strings.ToUpper(c.String("controller.listener.names")))
	first := ""
	for _, item := range splitList(c.String("listener.security.protocol.map")) {
		name, protocol, _ := strings.Cut(item, ":")
		name = strings.ToUpper(name)
		switch {
		case protocol != plaintext || slices.Contains(controllers, name):
		case name == plaintext:
			return name
		case first == "":
			first = name
		}
	}
	if first == "" {
		return plaintext // Listeners tells that it has no entry
	}
	return first
}

const plaintext = "PLAINTEXT"

func listenerNotices(listen, advertise []Listener) []Notice {
	var notices []Notice
	for _, l := range listen {
		if l.Open() {
			notices = append(notices, Notice{true, fmt.Sprintf("listener %s on %s is open to the network without authentication or encryption: whoever reaches it may read, write and delete everything", l.Name, l.Address())})
			continue
		}
		for _, a := range advertise {
			if a.Name == l.Name && a.Open() {
				notices = append(notices, Notice{true, fmt.Sprintf("clients are told to connect to %s, but listener %s is on %s, which only this machine reaches: set listeners=%s://:%d", a.Address(), l.Name, l.Address(), l.Name, l.Port)})
			}
		}
	}
	return notices
}

// anyHost takes the hosts out of a listener list.
func anyHost(text string) string {
	items := splitList(text)
	for i, item := range items {
		if l, err := parseListener(item); err == nil {
			items[i] = fmt.Sprintf("%s://:%d", l.Name, l.Port)
		}
	}
	return strings.Join(items, ",")
}

func checkAdvertised(a Listener, listen []Listener, value Value) error {
	if !slices.ContainsFunc(listen, func(l Listener) bool { return l.Name == a.Name }) {
		return fmt.Errorf("advertised.listeners=%s: %s is not one of listeners (%s)", value.Text, a.Name, value.Place)
	}
	if ip := net.ParseIP(a.Host); a.Host == "" || ip != nil && ip.IsUnspecified() {
		return fmt.Errorf("advertised.listeners=%s: %q is no address a client can connect to; leave the setting out and each client is told the address it reached (%s)", value.Text, a.Host, value.Place)
	}
	return nil
}

// protocols maps listener names to security protocols.
func (c *Config) protocols() (m map[string]string, problems []error) {
	value := c.Value("listener.security.protocol.map")
	m = make(map[string]string)
	for _, item := range splitList(value.Text) {
		name, protocol, ok := strings.Cut(item, ":")
		if !ok || !slices.Contains(securityProtocols, protocol) {
			problems = append(problems, fmt.Errorf("listener.security.protocol.map=%s: %q must be NAME:PROTOCOL with a protocol of %s (%s)",
				value.Text, item, strings.Join(securityProtocols, ", "), value.Place))
			continue
		}
		m[strings.ToUpper(name)] = protocol
	}
	return m, problems
}

var securityProtocols = []string{"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"}

// parseListeners parses NAME://HOST:PORT items, leaving the controller's out.
func (c *Config) parseListeners(value Value, protocols map[string]string) (all []Listener, problems []error) {
	wrong := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("%s=%s: %w (%s)", value.Name, value.Text, fmt.Errorf(format, args...), value.Place))
	}
	controllers := splitList(strings.ToUpper(c.String("controller.listener.names")))
	for _, item := range splitList(value.Text) {
		l, err := parseListener(item)
		if err != nil {
			wrong("%w", err)
			continue
		}
		if slices.Contains(controllers, l.Name) {
			continue
		}
		protocol, ok := protocols[l.Name]
		switch {
		case !ok && protocols == nil:
		case !ok:
			wrong("%s has no entry in listener.security.protocol.map", l.Name)
		case protocol != plaintext:
			wrong("listener %s asks for %s, which this version does not have; use PLAINTEXT", l.Name, protocol)
		case slices.ContainsFunc(all, func(other Listener) bool { return other.Name == l.Name }):
			wrong("%s is there twice", l.Name)
		default:
			all = append(all, l)
		}
	}
	return all, problems
}

func parseListener(item string) (Listener, error) {
	name, address, ok := strings.Cut(item, "://")
	if !ok || name == "" {
		return Listener{}, fmt.Errorf("%q must be NAME://HOST:PORT", item)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return Listener{}, fmt.Errorf("%q must be NAME://HOST:PORT", item)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return Listener{}, fmt.Errorf("port %q must be between 0 and 65535", port)
	}
	return Listener{Name: strings.ToUpper(name), Host: host, Port: uint16(n)}, nil
}
