package wasm

import (
	"encoding/binary"
	"fmt"
)

// The import that a metered module has in addition: it is called when the fuel of a slice
// is used up, and returns that of the next one.
const (
	meterModule = "spiced"
	meterName   = "tick"
)

// maxCost is the largest cost of a call of a function or an iteration of a loop. A loop
// around a long switch does not run all that is in it.
const maxCost = 100

// meter returns the module with code that counts fuel, and with limits on its memories and
// tables. wazero counts nothing, and where it can interrupt a module, each iteration of a
// loop costs a call out of it; see decision 0062.
func (m *module) meter(maxPages, maxElements uint64) ([]byte, error) {
	out := []byte("\x00asm\x01\x00\x00\x00")
	// Sections that may be absent come where the order of sections wants them.
	added := map[byte]bool{sectionType: true, sectionImport: true, sectionGlobal: true}
	add := func(id byte, payload []byte) {
		out = append(out, id)
		out = append(binary.AppendUvarint(out, uint64(len(payload))), payload...)
		delete(added, id)
	}
	before := func(id byte) {
		for _, missing := range []byte{sectionType, sectionImport, sectionGlobal} {
			if added[missing] && missing < id {
				payload, _ := m.rewrite(section{missing, []byte{0}}, 0, 0)
				add(missing, payload)
			}
		}
	}
	for _, s := range m.sections {
		if s.id == sectionCustom {
			continue
		}
		before(s.id)
		payload, err := m.rewrite(s, maxPages, maxElements)
		if err != nil {
			return nil, err
		}
		add(s.id, payload)
	}
	before(sectionExport)
	return out, nil
}

// rewrite returns the payload of a section.
func (m *module) rewrite(s section, maxPages, maxElements uint64) ([]byte, error) {
	r := &reader{data: s.payload}
	var out []byte
	switch s.id {
	case sectionType:
		out = appended(r, []byte{0x60, 0, 1, typeI64})
	case sectionImport:
		tick := append([]byte{byte(len(meterModule))}, meterModule...)
		tick = append(append(tick, byte(len(meterName))), meterName...)
		out = appended(r, binary.AppendUvarint(append(tick, externFunction), uint64(len(m.types))))
	case sectionGlobal:
		out = appended(r, []byte{typeI64, 1, 0x42, 0, 0x0B})
	case sectionTable:
		out = m.vector(r, func(out []byte) []byte { return appendLimits(append(out, r.byte()), r, maxElements) })
	case sectionMemory:
		out = m.vector(r, func(out []byte) []byte { return appendLimits(out, r, maxPages) })
	case sectionExport:
		out = m.vector(r, func(out []byte) []byte { return m.rewriteExport(out, r) })
	case sectionStart:
		out = m.appendFunction(nil, r)
	case sectionElement:
		peek := *r
		r.refuse(tooMany("the module", "element segments", uint64(peek.u32()), maxSegments))
		out = m.vector(r, func(out []byte) []byte { return m.rewriteElement(out, r) })
	case sectionCode:
		next := m.importedFunctions
		out = m.vector(r, func(out []byte) []byte {
			params := 0
			if next >= len(m.functions) {
				r.fail("more code than functions")
				return out
			}
			if int(m.functions[next]) < len(m.types) {
				params = len(m.types[m.functions[next]].params)
			}
			next++
			return m.rewriteCode(out, r, next-1, params)
		})
	default:
		return s.payload, nil
	}
	return out, r.err
}

// appended returns a vector with one more element.
func appended(r *reader, element []byte) []byte {
	n := r.u32()
	out := binary.AppendUvarint(nil, uint64(n)+1)
	return append(append(out, r.data[r.at:]...), element...)
}

// vector returns a vector with each element rewritten.
func (m *module) vector(r *reader, f func(out []byte) []byte) []byte {
	n := r.u32()
	out := binary.AppendUvarint(nil, uint64(n))
	for ; n > 0 && r.err == nil; n-- {
		out = f(out)
	}
	if r.err == nil && r.at != len(r.data) {
		r.fail("a section is longer than its elements")
	}
	return out
}

// appendLimits appends limits that are not above most.
func appendLimits(out []byte, r *reader, most uint64) []byte {
	least, declared, ok := r.limits()
	if ok && declared < most {
		most = declared
	}
	return binary.AppendUvarint(binary.AppendUvarint(append(out, 1), least), most)
}

// appendFunction appends the index of a function, which follows that of the meter unless it
// is imported.
func (m *module) appendFunction(out []byte, r *reader) []byte {
	n := r.u32()
	if int(n) >= m.importedFunctions {
		n++
	}
	return binary.AppendUvarint(out, uint64(n))
}

func (m *module) rewriteExport(out []byte, r *reader) []byte {
	name := r.bytes(r.u32())
	out = append(binary.AppendUvarint(out, uint64(len(name))), name...)
	kind := r.byte()
	if out = append(out, kind); kind == externFunction {
		return m.appendFunction(out, r)
	}
	return binary.AppendUvarint(out, uint64(r.u32()))
}

// rewriteElement rewrites a segment of functions for a table.
func (m *module) rewriteElement(out []byte, r *reader) []byte {
	flags := r.u32()
	out = binary.AppendUvarint(out, uint64(flags))
	passive, explicit, expressions := flags&1 != 0, flags&2 != 0, flags&4 != 0
	if flags > 7 {
		r.fail("unknown kind of element segment")
	}
	if !passive && explicit {
		out = binary.AppendUvarint(out, uint64(r.u32())) // the table
	}
	if !passive {
		out = m.rewriteExpression(out, r)
	}
	if passive || explicit {
		out = append(out, r.byte()) // the type
	}
	n := r.u32()
	out = binary.AppendUvarint(out, uint64(n))
	for ; n > 0 && r.err == nil; n-- {
		if expressions {
			out = m.rewriteExpression(out, r)
		} else {
			out = m.appendFunction(out, r)
		}
	}
	return out
}

// rewriteExpression rewrites a constant expression.
func (m *module) rewriteExpression(out []byte, r *reader) []byte {
	for r.err == nil {
		op := r.byte()
		out = m.rewriteInstruction(out, r, op)
		if op == 0x0B {
			break
		}
	}
	return out
}

// rewriteInstruction appends an instruction with the functions that it names.
func (m *module) rewriteInstruction(out []byte, r *reader, op byte) []byte {
	out = append(out, op)
	switch op {
	case 0x10, 0xD2: // call, ref.func
		return m.appendFunction(out, r)
	case 0x23, 0x24: // global.get, global.set
		n := r.u32()
		if int(n) >= m.globals { // the next one is the fuel
			r.fail("unknown global")
		}
		return binary.AppendUvarint(out, uint64(n))
	}
	from := r.at
	r.skipImmediates(op)
	return append(out, r.data[min(from, r.at):r.at]...)
}

// rewriteCode rewrites the code of a function with so many parameters.
func (m *module) rewriteCode(out []byte, r *reader, function, params int) []byte {
	code := &reader{data: r.bytes(r.u32()), base: r.base + r.at}
	body, length := rewriteLocals(code, params)
	has := shape{code: uint64(len(code.data)), locals: length}
	m.locals += length
	code.refuse(has.check(function))
	code.refuse(tooMany("the module", "locals", m.locals, maxAllLocals))
	body, cost := m.charge(body)
	costs := []cell{cost} // of the function and the loops that are open
	blocks := []bool{false}
	for code.err == nil && len(blocks) > 0 {
		op := code.byte()
		has.add(op, *code, m.types)
		has.depth = max(has.depth, uint64(len(blocks)-1))
		switch op {
		case 0x02, 0x04: // block, if
			blocks = append(blocks, false)
		case 0x03: // loop
			from := code.at
			code.leb(5)
			body = append(append(body, op), code.data[from:code.at]...)
			body, cost = m.charge(body)
			blocks, costs = append(blocks, true), append(costs, cost)
			continue
		case 0x0B: // end
			if last := len(blocks) - 1; blocks[last] {
				costs[len(costs)-1].set(body)
				costs = costs[:len(costs)-1]
			}
			blocks = blocks[:len(blocks)-1]
		}
		costs[len(costs)-1].n++
		if op == 0xFC && isBulk(*code) {
			body = m.chargeBulk(body, length)
		}
		body = m.rewriteInstruction(body, code, op)
	}
	costs[0].set(body)
	code.refuse(has.check(function))
	if m.work += has.work(); m.work > maxWork {
		code.refuse(fmt.Errorf("the module takes too long to compile: the blocks, branches and locals of its first "+
			"%d functions are %d units of work; at most %d are allowed", function+1, m.work, maxWork))
	}
	if code.err == nil && code.at != len(code.data) {
		code.fail("code after the end of a function")
	}
	if code.err != nil {
		r.at, r.err = len(r.data), code.err
	}
	return append(binary.AppendUvarint(out, uint64(len(body))), body...)
}

// cell is the position of a cost in the code, and what it is.
type cell struct{ at, n int }

func (c cell) set(body []byte) {
	n := min(max(c.n, 1), maxCost)
	// two bytes whatever the number is
	body[c.at], body[c.at+1] = byte(n&0x7F)|0x80, byte(n>>7)
}

// rewriteLocals rewrites the locals of a function, with one more, whose index it returns.
func rewriteLocals(code *reader, params int) (body []byte, length uint64) {
	groups, from := code.u32(), 0
	from, length = code.at, uint64(params)
	for n := groups; n > 0 && code.err == nil; n-- {
		length += uint64(code.u32())
		code.byte()
	}
	body = append(binary.AppendUvarint(nil, uint64(groups)+1), code.data[min(from, code.at):code.at]...)
	return append(body, 1, typeI32), length
}

// charge appends code that takes a cost from the fuel, and asks for more if there is none:
//
//	global.set $fuel (i64.sub (global.get $fuel) (i64.const cost))
//	if (i64.lt_s (global.get $fuel) (i64.const 0))
//	  global.set $fuel (call $tick)
//	  if (i64.eqz (global.get $fuel)) unreachable end
//	end
func (m *module) charge(body []byte) ([]byte, cell) {
	body = append(m.global(body, 0x23), 0x42, 0, 0)
	cost := cell{at: len(body) - 2}
	return m.take(body), cost
}

// chargeBulk appends code that takes the cost of an instruction that moves or fills memory:
// 1 for 32 bytes, whose number is on the stack. They are kept in a local.
func (m *module) chargeBulk(body []byte, local uint64) []byte {
	body = binary.AppendUvarint(append(body, 0x22), local)                 // local.tee
	body = binary.AppendUvarint(append(m.global(body, 0x23), 0x20), local) // global.get, local.get
	return m.take(append(body, 0xAD, 0x42, 5, 0x88))                       // i64.extend_i32_u, i64.shr_u
}

// global appends global.get or global.set of the fuel.
func (m *module) global(body []byte, op byte) []byte {
	return binary.AppendUvarint(append(body, op), uint64(m.globals))
}

// take appends the rest of a charge, with the fuel and the cost on the stack.
func (m *module) take(body []byte) []byte {
	body = m.global(m.global(append(body, 0x7D), 0x24), 0x23)
	body = binary.AppendUvarint(append(body, 0x42, 0, 0x53, 0x04, 0x40, 0x10), uint64(m.importedFunctions))
	body = m.global(m.global(body, 0x24), 0x23)
	return append(body, 0x50, 0x04, 0x40, 0x00, 0x0B, 0x0B)
}
