package spicepod

import (
	"io"
	"os"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// moduleMagic is how WebAssembly modules begin.
const moduleMagic = "\x00asm"

// IsModule reports whether the text of a body is a WebAssembly module. It is kept as it is.
func IsModule(body string) bool { return strings.HasPrefix(body, moduleMagic) }

// partLimit returns the largest size of a file named by ref, body_ref, sql_ref or
// params.module. A file that cannot be read is reported later.
func partLimit(path string) int64 {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return MaxPartBytes
	}
	file, err := os.Open(path)
	if err != nil {
		return MaxPartBytes
	}
	defer file.Close()
	magic := make([]byte, len(moduleMagic))
	if _, err := io.ReadFull(file, magic); err == nil && string(magic) == moduleMagic {
		return MaxModuleBytes
	}
	return MaxPartBytes
}

// readModule reads the file of params.module, Spice's name of body_ref in a function from
// wasm, as its body.
func (d *decoder) readModule(f *Function, o *object) {
	node := moduleOf(target(o.value("params")))
	if node == nil {
		return
	}
	name, err := f.Params.String("module")
	switch {
	case err != nil || name == "": // reported when the params are read
	case o.value("body") != nil || o.value("body_ref") != nil:
		d.failPath("params.module", "WASM function has both `params.module` and `body` or `body_ref`; provide exactly one",
			"the table that a module reads is passed in the call: declare it in signature.tables")
	default:
		d.push("params")
		d.push("module")
		d.textFile(node, name, reflect.ValueOf(&f.Body).Elem())
		d.pop()
		d.pop()
	}
}

// moduleOf returns the value of the key module.
func moduleOf(params *yaml.Node) *yaml.Node {
	if params == nil || params.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(params.Content); i += 2 {
		if keyText(params.Content[i]) == "module" {
			return params.Content[i+1]
		}
	}
	return nil
}
