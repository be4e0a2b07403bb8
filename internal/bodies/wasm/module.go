package wasm

import (
	"fmt"
	"slices"
)

// Sections of a module, by their ids.
const (
	sectionCustom = iota
	sectionType
	sectionImport
	sectionFunction
	sectionTable
	sectionMemory
	sectionGlobal
	sectionExport
	sectionStart
	sectionElement
	sectionCode
	sectionData
	sectionDataCount
)

// Kinds of what is imported and exported.
const (
	externFunction = iota
	externTable
	externMemory
	externGlobal
)

// Types of values.
const (
	typeI32 = 0x7F
	typeI64 = 0x7E
	typeF32 = 0x7D
	typeF64 = 0x7C
)

// typeNames are the names of the types of values in the text format.
var typeNames = map[byte]string{
	typeI32: "i32", typeI64: "i64", typeF32: "f32", typeF64: "f64", 0x7B: "v128",
	0x70: "funcref", 0x6F: "externref",
}

// funcType is the type of a function.
type funcType struct{ params, results []byte }

func (f funcType) equal(other funcType) bool {
	return slices.Equal(f.params, other.params) && slices.Equal(f.results, other.results)
}

// String returns the type as (i32, i64) -> i32.
func (f funcType) String() string {
	return "(" + names(f.params) + ") -> " + or(names(f.results), "nothing")
}

func names(types []byte) (list string) {
	for i, t := range types {
		if i > 0 {
			list += ", "
		}
		list += or(typeNames[t], fmt.Sprintf("0x%02X", t))
	}
	return list
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// imported is an import of a module.
type imported struct{ module, name string }

// module is the part of a module that is checked at load.
type module struct {
	sections []section
	types    []funcType
	imports  []imported
	// functions are the types of all functions, the imported ones first.
	functions         []uint32
	importedFunctions int
	globals           int
	exports           map[string]export
	memories          int
	memoryPages       uint64 // at the start
	tableElements     uint64 // the largest table's, at the start
	locals, work      uint64 // of all functions
}

type section struct {
	id      byte
	payload []byte
}

type export struct {
	kind  byte
	index uint32
}

// function returns the type of an exported function.
func (m *module) function(name string) (funcType, bool) {
	e, ok := m.exports[name]
	if !ok || e.kind != externFunction || int(e.index) >= len(m.functions) || int(m.functions[e.index]) >= len(m.types) {
		return funcType{}, false
	}
	return m.types[m.functions[e.index]], true
}

// exportedFunctions returns the names of the exported functions.
func (m *module) exportedFunctions() []string {
	var list []string
	for name, e := range m.exports {
		if e.kind == externFunction {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// parseModule reads the sections of a module. wazero validates the module after it: what
// is read here is only what this package needs to know.
func parseModule(data []byte) (m *module, err error) {
	if len(data) < 8 || string(data[:4]) != "\x00asm" {
		return nil, fmt.Errorf("the file is not a WebAssembly module: it does not begin with \\0asm")
	}
	if v := data[4:8]; v[0] != 1 || v[1] != 0 || v[2] != 0 || v[3] != 0 {
		if v[2] == 1 {
			return nil, fmt.Errorf("the file is a component; a core module is needed")
		}
		return nil, fmt.Errorf("the file is a WebAssembly module of version %d; version 1 is needed", v[0])
	}
	m = &module{exports: map[string]export{}}
	r := &reader{data: data, at: 8}
	last := 0
	for r.err == nil && r.at < len(r.data) {
		id := r.byte()
		if id != sectionCustom {
			if order := orderOf(id); order <= last {
				r.fail("a section out of order")
			} else {
				last = order
			}
		}
		payload := r.bytes(r.u32())
		if r.err != nil {
			break
		}
		m.sections = append(m.sections, section{id, payload})
		s := &reader{data: payload, base: r.at - len(payload)}
		m.read(id, s)
		if s.err != nil {
			return nil, s.err
		}
	}
	return m, r.err
}

// orderOf returns the place of a section among the others, 0 for an unknown one.
func orderOf(id byte) int {
	return 1 + slices.Index([]byte{
		sectionType, sectionImport, sectionFunction, sectionTable, sectionMemory, sectionGlobal,
		sectionExport, sectionStart, sectionElement, sectionDataCount, sectionCode, sectionData,
	}, id)
}

// read reads a section.
func (m *module) read(id byte, r *reader) {
	switch id {
	case sectionType:
		r.each("types", maxTypes, func() { m.types = append(m.types, r.funcType()) })
	case sectionImport:
		r.each("imports", maxExterns, func() { m.readImport(r) })
	case sectionFunction:
		r.each("functions", maxFunctions, func() { m.functions = append(m.functions, r.u32()) })
	case sectionTable:
		r.each("tables", maxTables, func() {
			r.byte()
			least, _, _ := r.limits()
			m.tableElements = max(m.tableElements, least)
		})
	case sectionMemory:
		r.each("memories", maxMemories, func() {
			least, _, _ := r.limits()
			m.memories++
			m.memoryPages = max(m.memoryPages, least)
		})
	case sectionGlobal:
		r.each("globals", maxGlobals, func() {
			r.byte()
			r.byte()
			m.rewriteExpression(nil, r)
			m.globals++
		})
	case sectionExport:
		r.each("exports", maxExterns, func() {
			name := r.name()
			m.exports[name] = export{r.byte(), r.u32()}
		})
	case sectionData:
		r.each("data segments", maxSegments, func() { m.readData(r) })
	default:
		return
	}
	if r.err == nil && r.at != len(r.data) {
		r.fail("a section longer than its elements")
	}
}

func (m *module) readImport(r *reader) {
	m.imports = append(m.imports, imported{r.name(), r.name()})
	switch r.byte() {
	case externFunction:
		m.functions = append(m.functions, r.u32())
		m.importedFunctions++
	case externTable:
		r.byte()
		r.limits()
	case externMemory:
		r.limits()
		m.memories++
	case externGlobal:
		r.byte()
		r.byte()
		m.globals++
	default:
		r.fail("unknown kind of import")
	}
}

func (m *module) readData(r *reader) {
	flags := r.u32()
	if flags > 2 {
		r.fail("unknown kind of data segment")
	}
	if flags == 2 {
		r.u32() // the memory
	}
	if flags != 1 {
		m.rewriteExpression(nil, r)
	}
	r.bytes(r.u32())
}

// reader reads the binary format. After an error it returns zeros.
type reader struct {
	data []byte
	at   int
	base int // of data in the file
	err  error
}

func (r *reader) fail(what string) {
	if r.err == nil {
		r.err = fmt.Errorf("the module is not valid: %s at byte %d", what, r.base+r.at)
	}
	r.at = len(r.data)
}

func (r *reader) byte() byte {
	if r.at >= len(r.data) {
		r.fail("unexpected end")
		return 0
	}
	r.at++
	return r.data[r.at-1]
}

func (r *reader) bytes(n uint32) []byte {
	if uint64(n) > uint64(len(r.data)-r.at) {
		r.fail("unexpected end")
		return nil
	}
	r.at += int(n)
	return r.data[r.at-int(n) : r.at]
}

// leb skips a number of at most so many bytes and returns its bits, without its sign.
func (r *reader) leb(most int) (n uint64) {
	for i := range most {
		b := r.byte()
		n |= uint64(b&0x7F) << (7 * i)
		if b < 0x80 {
			return n
		}
	}
	r.fail("a number is too long")
	return 0
}

func (r *reader) u32() uint32 {
	n := r.leb(5)
	if n > 1<<32-1 {
		r.fail("a number is too large")
	}
	return uint32(n)
}

func (r *reader) name() string { return string(r.bytes(r.u32())) }

// each calls f for each element of a vector; a module has a limited number of elements.
func (r *reader) each(what string, most uint64, f func()) {
	n := r.u32()
	r.refuse(tooMany("the module", what, uint64(n), most))
	for ; n > 0 && r.err == nil; n-- {
		f()
	}
}

// refuse ends the reading with an error if there is one.
func (r *reader) refuse(err error) {
	if err != nil && r.err == nil {
		r.err, r.at = err, len(r.data)
	}
}

func (r *reader) funcType() funcType {
	if r.byte() != 0x60 {
		r.fail("unknown type")
	}
	t := funcType{r.bytes(r.u32()), r.bytes(r.u32())}
	r.refuse(tooMany("a type", "params", uint64(len(t.params)), maxValues))
	r.refuse(tooMany("a type", "results", uint64(len(t.results)), maxValues))
	return t
}

// limits reads the limits of a table or memory.
func (r *reader) limits() (least, most uint64, bounded bool) {
	flags := r.byte()
	if flags > 1 {
		r.fail("a shared or 64-bit memory, which is not supported")
	}
	least = uint64(r.u32())
	if flags == 1 {
		return least, uint64(r.u32()), true
	}
	return least, 0, false
}
