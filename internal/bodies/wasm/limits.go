package wasm

import "fmt"

// Limits of a module. wazero allocates what a module declares before it uses it, and its
// compiler, which cannot be interrupted, takes time that grows with the square of what a
// function has. The largest functions of the guests in testdata and of programs of Go, Zig
// and TinyGo have 800 blocks, 550 of them nested, 1400 branches, 800 locals and 30 KB, and
// loops × locals of 2000.
const (
	maxTypes     = 100_000
	maxFunctions = 100_000 // compiled in 2 s
	maxTables    = 10
	maxMemories  = 1
	maxGlobals   = 100_000
	maxExterns   = 100_000 // imports, and exports
	maxSegments  = 100_000 // of data, and of elements

	maxValues    = 1000       // params of a type, and results
	maxLocals    = 50_000     // of a function, with its params
	maxAllLocals = 10_000_000 // wazero has a byte for each before it compiles

	maxCode     = 1 << 20 // bytes of a function; without branches it is compiled in 0.4 s
	maxDepth    = 1000    // nested blocks; 1000 loops are compiled in 0.3 s
	maxBlocks   = 5000    // of a function; compiled in 1 s
	maxLoops    = 2000    // of a function; compiled in 2 s
	maxBranches = 10_000  // of a function, with the targets of br_table; compiled in 2 s

	// The compiler has a value for each local at the begin of a loop, and at the end of a
	// block for each branch to it.
	maxLoopValues   = 20_000  // compiled in 2 s
	maxBranchValues = 400_000 // compiled in 2 s

	// maxWork is the work of all functions, of 0.3 µs each, or up to 1 µs in small ones.
	maxWork = 100_000_000
)

// tooMany returns the error of a count, nil if it is not above most.
func tooMany(whose, what string, n, most uint64) error {
	if n <= most {
		return nil
	}
	return fmt.Errorf("%s has %d %s; at most %d are allowed", whose, n, what, most)
}

// shape is what of a function the compiler's time grows with.
type shape struct {
	code, depth, blocks, loops, branches uint64
	locals                               uint64 // with the params
	values                               uint64 // of the block with most params and results
}

// check returns an error if a function is too large to be compiled.
func (s shape) check(function int) error {
	values := s.locals + s.values
	for _, c := range []struct {
		what    string
		n, most uint64
	}{
		{"locals", s.locals, maxLocals},
		{"bytes of code", s.code, maxCode},
		{"nested blocks", s.depth, maxDepth},
		{"blocks", s.blocks, maxBlocks},
		{"loops", s.loops, maxLoops},
		{"branches", s.branches, maxBranches},
		{fmt.Sprintf("values in loops (%d loops × %d locals)", s.loops, values), s.loops * values, maxLoopValues},
		{
			fmt.Sprintf("values in branches (%d blocks and branches × %d locals)", s.blocks+s.branches, values),
			(s.blocks + s.branches) * values, maxBranchValues,
		},
	} {
		if err := tooMany(fmt.Sprintf("function %d", function), c.what, c.n, c.most); err != nil {
			return err
		}
	}
	return nil
}

// work is an estimate of the time to compile a function, from measurements.
func (s shape) work() uint64 {
	inLoops, inBranches := s.loops*(s.locals+s.values), (s.blocks+s.branches)*(s.locals+s.values)
	return s.code/20 + s.blocks*s.blocks + s.branches*s.branches/10 + inLoops*inLoops/100 + 4*inBranches +
		inBranches*inBranches/40_000
}

// add counts an instruction, whose immediates follow in the code.
func (s *shape) add(op byte, code reader, types []funcType) {
	switch op {
	case 0x02, 0x03, 0x04: // block, loop, if
		s.blocks++
		if op == 0x03 {
			s.loops++
		}
		from := code.at
		if t := code.leb(5); t < uint64(len(types)) && (code.at > from+1 || t < 0x40) {
			s.values = max(s.values, uint64(len(types[t].params)+len(types[t].results)))
		}
	case 0x0C, 0x0D: // br, br_if
		s.branches++
	case 0x0E: // br_table
		s.branches += uint64(code.u32()) + 1
	}
}
