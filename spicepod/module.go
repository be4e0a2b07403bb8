package spicepod

import (
	"fmt"
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

// readFileParam reads the file that a param of the function names, in place of body_ref, as its
// body.
func (d *decoder) readFileParam(f *Function, o *object) {
	key := f.BodyKind.FileParam
	node := paramNode(target(o.value("params")), key)
	if node == nil {
		return
	}
	name, err := f.Params.String(key)
	switch {
	case err != nil || name == "": // reported when the params are read
	case o.value("body") != nil || o.value("body_ref") != nil:
		d.failPath(ParamPath(key)[1:],
			fmt.Sprintf("%s function has both `params.%s` and `body` or `body_ref`; provide exactly one",
				strings.ToUpper(f.Scheme()), key), f.BodyKind.BothHint)
	default:
		d.push("params")
		d.push(key)
		d.textFile(node, name, reflect.ValueOf(&f.Body).Elem())
		d.pop()
		d.pop()
	}
}

// paramNode returns the value of a param.
func paramNode(params *yaml.Node, key string) *yaml.Node {
	if params == nil || params.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(params.Content); i += 2 {
		if keyText(params.Content[i]) == key {
			return params.Content[i+1]
		}
	}
	return nil
}
