package runtime

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/peers/mcpclient"
	"github.com/spiced-sql/spiced/internal/peers/mcplock"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// openServers makes the manager of MCP servers.
func (d *Runtime) openServers() {
	d.servers = mcpclient.New(mcpclient.Options{
		Log: d.log, Version: d.opts.Version, Offline: d.opts.Offline,
		Changed:  func() { d.ask(request{trigger: "mcp"}) },
		Approved: func(dir string) (mcpclient.Approvals, error) { return mcplock.Open(dir) },
	})
}

// Servers are the MCP servers that the Spicepod declares.
func (d *Runtime) Servers() *mcpclient.Manager { return d.servers }

// prepareServers connects to the MCP servers that are new.
func (b *build) prepareServers(ctx context.Context) {
	servers, problems := b.d.servers.Prepare(ctx, b.pod)
	b.servers = servers
	b.problems(problems)
}

const schemeMCP = "mcp"

// serverTools are the tools of the MCP servers.
func (b *build) serverTools() []tools.Tool {
	var list []tools.Tool
	for _, s := range b.servers {
		list = append(list, s.Tools()...)
	}
	return list
}

// lockFile is what says which tools of MCP servers are approved.
func lockFile(pod *spicepod.Pod) string { return filepath.Join(pod.Dir, mcplock.Name) }

// unasked reports whether a name is that of a tool of a server that this
// runtime does not ask.
func (b *build) unasked(tool string) bool {
	server, _, _ := strings.Cut(strings.ReplaceAll(tool, "/", "__"), "__")
	return b.d.opts.Offline && slices.ContainsFunc(b.pod.Tools, func(t spicepod.Tool) bool {
		return t.Scheme() == schemeMCP && strings.EqualFold(t.Name, server)
	})
}

// WhenPublished has f called after each publication. It is called before
// [Runtime.Run]; f returns at once.
func (d *Runtime) WhenPublished(f func()) { d.hear = append(d.hear, f) }
