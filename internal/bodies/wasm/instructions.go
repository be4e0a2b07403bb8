package wasm

// skipImmediates reads what follows an instruction that refers to no function and no
// global.
func (r *reader) skipImmediates(op byte) {
	switch {
	case op == 0x02 || op == 0x04: // block, if
		r.leb(5)
	case op == 0x0C || op == 0x0D: // br, br_if
		r.u32()
	case op == 0x0E: // br_table
		for n := r.u32(); n > 0 && r.err == nil; n-- {
			r.u32()
		}
		r.u32()
	case op == 0x11: // call_indirect
		r.u32()
		r.u32()
	case op == 0x1C: // select of a type
		r.bytes(r.u32())
	case op >= 0x20 && op <= 0x22 || op == 0x25 || op == 0x26: // local.*, table.get, table.set
		r.u32()
	case op >= 0x28 && op <= 0x3E: // loads and stores
		r.u32()
		r.u32()
	case op == 0x3F || op == 0x40: // memory.size, memory.grow
		r.byte()
	case op == 0x41: // i32.const
		r.leb(5)
	case op == 0x42: // i64.const
		r.leb(10)
	case op == 0x43: // f32.const
		r.bytes(4)
	case op == 0x44: // f64.const
		r.bytes(8)
	case op == 0xD0: // ref.null
		r.byte()
	case op == 0xFC:
		r.skipBulk()
	case op == 0xFD:
		r.skipVector()
	case op <= 0x01, op == 0x05, op == 0x0B, op == 0x0F, op == 0x1A, op == 0x1B, op >= 0x45 && op <= 0xC4, op == 0xD1:
		// without any
	default:
		r.at--
		r.fail("unknown instruction")
	}
}

// skipBulk reads the rest of an instruction that begins with 0xFC.
func (r *reader) skipBulk() {
	switch op := r.u32(); {
	case op <= 7: // saturating conversions
	case op == 8 || op == 10 || op == 12 || op == 14: // memory.init, memory.copy, table.init, table.copy
		r.u32()
		r.u32()
	case op == 9 || op == 11 || op == 13 || op >= 15 && op <= 17:
		r.u32()
	default:
		r.fail("unknown instruction")
	}
}

// skipVector reads the rest of an instruction that begins with 0xFD.
func (r *reader) skipVector() {
	switch op := r.u32(); {
	case op <= 11 || op == 92 || op == 93: // loads and stores
		r.u32()
		r.u32()
	case op == 12 || op == 13: // v128.const, i8x16.shuffle
		r.bytes(16)
	case op >= 21 && op <= 34: // lanes
		r.byte()
	case op >= 84 && op <= 91: // loads and stores of lanes
		r.u32()
		r.u32()
		r.byte()
	case op > 255:
		r.fail("unknown instruction")
	}
}

// isBulk reports whether the instruction whose first byte, 0xFC, has been read moves or
// fills a range of a memory or table.
func isBulk(r reader) bool {
	switch r.u32() {
	case 8, 10, 11, 12, 14, 17:
		return true
	}
	return false
}
