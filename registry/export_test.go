package registry

import (
	"encoding/json"

	"github.com/spiced-sql/spiced/tools"
)

// ReadTakers reads the arguments of all tools, as the first hint does.
func (c *Catalog) ReadTakers() { newTakers(c.entries) }

// NextToolsOf returns the hints for a result of the tool.
func (c *Catalog) NextToolsOf(name string) []NextTool {
	return c.nextTools(name, json.RawMessage(`[{}]`), tools.Scope{})
}
