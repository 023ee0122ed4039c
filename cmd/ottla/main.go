// Command ottla is an event log that speaks Kafka: the broker, and the tools to work with it.
package main

import (
	"os"

	"github.com/ottla-io/ottla/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args, os.Stdin, os.Stdout, os.Stderr, os.Environ()))
}
