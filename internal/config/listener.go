package config

import (
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
// shall be the one it is told. Notices tell of what is open to the network.
func (c *Config) Listeners() (listen, advertise []Listener, notices []Notice, err error) {
	protocols, err := c.protocols()
	if err != nil {
		return nil, nil, nil, err
	}
	value := c.Value("listeners")
	advertised := c.Value("advertised.listeners")
	if value.Source == Default && strings.HasPrefix(advertised.Place, "KAFKA_") {
		// Kafka's container image listens on all interfaces at the advertised ports.
		value = Value{Name: "listeners", Text: anyHost(advertised.Text), Place: advertised.Place}
	}
	listen, err = c.parseListeners(value, protocols)
	if err != nil {
		return nil, nil, nil, err
	}
	if len(listen) == 0 {
		return nil, nil, nil, fmt.Errorf("listeners=%s: has no listener for clients, only the controller's (%s)", value.Text, value.Place)
	}
	advertise, err = c.parseListeners(advertised, protocols)
	if err != nil {
		return nil, nil, nil, err
	}
	for _, a := range advertise {
		if err := checkAdvertised(a, listen, advertised); err != nil {
			return nil, nil, nil, err
		}
	}
	return listen, advertise, listenerNotices(listen, advertise), nil
}

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
func (c *Config) protocols() (map[string]string, error) {
	value := c.Value("listener.security.protocol.map")
	m := make(map[string]string)
	for _, item := range splitList(value.Text) {
		name, protocol, ok := strings.Cut(item, ":")
		if !ok || !slices.Contains(securityProtocols, protocol) {
			return nil, fmt.Errorf("listener.security.protocol.map=%s: %q must be NAME:PROTOCOL with a protocol of %s (%s)",
				value.Text, item, strings.Join(securityProtocols, ", "), value.Place)
		}
		m[strings.ToUpper(name)] = protocol
	}
	return m, nil
}

var securityProtocols = []string{"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"}

// parseListeners parses NAME://HOST:PORT items, leaving the controller's out.
func (c *Config) parseListeners(value Value, protocols map[string]string) ([]Listener, error) {
	controllers := splitList(strings.ToUpper(c.String("controller.listener.names")))
	var all []Listener
	for _, item := range splitList(value.Text) {
		l, err := parseListener(item)
		if err != nil {
			return nil, fmt.Errorf("%s=%s: %w (%s)", value.Name, value.Text, err, value.Place)
		}
		if slices.Contains(controllers, l.Name) {
			continue
		}
		protocol, ok := protocols[l.Name]
		if !ok {
			return nil, fmt.Errorf("%s=%s: %s has no entry in listener.security.protocol.map (%s)", value.Name, value.Text, l.Name, value.Place)
		}
		if protocol != "PLAINTEXT" {
			return nil, fmt.Errorf("%s=%s: listener %s asks for %s, which this version does not have; use PLAINTEXT (%s)", value.Name, value.Text, l.Name, protocol, value.Place)
		}
		if slices.ContainsFunc(all, func(other Listener) bool { return other.Name == l.Name }) {
			return nil, fmt.Errorf("%s=%s: %s is there twice (%s)", value.Name, value.Text, l.Name, value.Place)
		}
		all = append(all, l)
	}
	return all, nil
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

// ListenFlag turns HOST:PORT (or :PORT, or NAME://HOST:PORT) of a --listen flag into a text for listeners.
func ListenFlag(address string) string {
	if strings.Contains(address, "://") {
		return address
	}
	return "PLAINTEXT://" + address
}
