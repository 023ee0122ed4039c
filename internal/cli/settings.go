package cli

import (
	"net"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ottla-io/ottla/internal/cli/session"
	"github.com/ottla-io/ottla/internal/config"
)

// settingFlags are the flags that a broker's settings come from.
type settingFlags struct {
	data   string
	listen []string
	admin  string
	file   string
	sets   []string
}

func (f *settingFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.data, "data", "d", "", "data directory (./ottla-data)")
	flags.StringArrayVarP(&f.listen, "listen", "l", nil, "HOST:PORT for clients, port 0 picks one (127.0.0.1:9092)")
	flags.StringVar(&f.admin, "admin", "", "HOST:PORT of health, metrics and profiles, or off (127.0.0.1:9644)")
	flags.StringVar(&f.file, "config", "", "a server.properties")
	flags.StringArrayVar(&f.sets, "set", nil, "`KEY=VALUE` of a setting, again for more")
	_ = cmd.RegisterFlagCompletionFunc("set", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		names := config.Names(false)
		for i := range names {
			names[i] += "="
		}
		return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
}

// given lists the settings of the command line: --set first, since the flags with a name of their own stand above it.
func (f *settingFlags) given() ([]config.Flag, error) {
	var all []config.Flag
	for _, pair := range f.sets {
		key, text, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, session.Usagef("--set %s: must be key=value", pair)
		}
		all = append(all, config.Flag{Key: key, Text: text, Place: "--set"})
	}
	if f.data != "" {
		all = append(all, config.Flag{Key: "log.dirs", Text: f.data, Place: "--data"})
	}
	if len(f.listen) > 0 {
		items := make([]string, len(f.listen))
		for i, address := range f.listen {
			if _, _, err := net.SplitHostPort(address); err != nil && !strings.Contains(address, "://") {
				return nil, session.Usagef("--listen %s: must be HOST:PORT, such as 127.0.0.1:9092", address)
			}
			items[i] = address
		}
		all = append(all, config.Flag{Key: "listeners", Text: strings.Join(items, ","), Place: "--listen"})
	}
	if f.admin != "" {
		all = append(all, config.Flag{Key: "admin.listener", Text: f.admin, Place: "--admin"})
	}
	return all, nil
}

// load resolves all settings as start does.
func (f *settingFlags) load(environ []string) (*config.Config, error) {
	given, err := f.given()
	if err != nil {
		return nil, err
	}
	in := config.Input{Flags: given, Environ: environ, File: f.file}
	if f.file != "" {
		text, err := os.ReadFile(f.file)
		if err != nil {
			return nil, session.UsageError{Err: err}
		}
		in.Text = string(text)
	}
	return config.Load(in)
}
