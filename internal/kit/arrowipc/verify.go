package arrowipc

import (
	"encoding/binary"
	"errors"
)

// The headers of Arrow IPC messages (Message.fbs).
const (
	headerSchema     = 1
	headerDictionary = 2
	headerBatch      = 3
)

// Types of fields (Schema.fbs) that matter here.
const (
	typeTimestamp = 10
	typeUnion     = 14
	typeRunEnds   = 22 // run-end encoded; after it come views
	typeLast      = 26
)

var (
	errDamaged    = errors.New("an Arrow message is damaged, or has types that are not supported")
	errRunEnds    = errors.New("a column is run-end encoded; send the values themselves")
	errViews      = errors.New("a column has views; send utf8, binary or a list")
	errCompressed = errors.New("an Arrow message is compressed")
	errDelta      = errors.New("a dictionary is sent in parts")
	errBigEndian  = errors.New("the numbers are big-endian")
	errDictionary = errors.New("a result has no dictionaries; return the values themselves")
	errFields     = errors.New("the schema has too many fields, or they are nested too deep")
)

// Rules are what messages may have.
type Rules struct {
	Parts  int  // fields of a schema with those of nested types, and entries of its metadata
	Depth  int  // of nested types
	Simple bool // nothing compressed, no parts of dictionaries, no run-end encoded columns
	Views  bool // with Simple: views of texts and lists as well
	Plain  bool // no dictionaries
}

// Remote are the rules for the messages of a server.
var Remote = Rules{Parts: 100_000, Depth: 64}

// Verify checks the header of an Arrow IPC message before Arrow's reader gets
// it: that reader believes every length in it and would allocate or recurse to
// the end of the process. What is found by reading values, it recovers from.
// It copies each text; many may be the same bytes.
func Verify(header []byte, rules Rules) error {
	_, err := verifyMessage(header, rules)
	return err
}

// VerifyStream checks the messages of a stream.
func VerifyStream(data []byte, rules Rules) error {
	for len(data) > 0 {
		header, rest, err := nextHeader(data)
		if err != nil || len(header) == 0 {
			return err
		}
		body, err := verifyMessage(header, rules)
		if err != nil {
			return err
		}
		if body > uint64(len(rest)) {
			return errDamaged
		}
		data = rest[body:]
	}
	return nil
}

// nextHeader returns the header of the message at the begin of a stream, empty at its end, and
// what is after it.
func nextHeader(data []byte) (header, rest []byte, err error) {
	size := uint32(0xFFFFFFFF) // the mark that newer versions write before the size
	for range 2 {
		if size != 0xFFFFFFFF {
			break
		}
		if len(data) < 4 {
			return nil, nil, errDamaged
		}
		size, data = binary.LittleEndian.Uint32(data), data[4:]
	}
	if uint64(size) > uint64(len(data)) {
		return nil, nil, errDamaged
	}
	return data[:size:size], data[size:], nil
}

// verifyMessage checks the header of a message and returns the length of its body.
func verifyMessage(header []byte, rules Rules) (body uint64, err error) {
	v := &verifier{buf: header, rules: rules, left: rules.Parts, texts: max(len(header), 1<<20)}
	root := v.follow(0)
	v.pairs(root, 4)
	if at := v.field(root, 3); at != 0 {
		body = binary.LittleEndian.Uint64(v.bytes(at, 8))
	}
	at := v.field(root, 2)
	if at == 0 {
		return 0, errDamaged
	}
	table := v.follow(at)
	switch v.byte(v.field(root, 1)) {
	case headerSchema:
		v.schema(table)
	case headerBatch:
		v.batch(table)
	case headerDictionary:
		v.dictionary(table)
	default:
		v.fail(errDamaged)
	}
	return body, v.err
}

// verifier walks a FlatBuffer (https://flatbuffers.dev/internals). All
// references have to lie in it. Positions are those of tables, fields and
// vectors; 0 is that of none. left is how many tables may still come: what
// refers twice to one would be read twice.
type verifier struct {
	buf   []byte
	rules Rules
	left  int
	texts int // bytes that the texts may still have
	err   error
}

func (v *verifier) fail(err error) {
	if v.err == nil {
		v.err = err
	}
}

// bytes are n bytes at a position, or zeros.
func (v *verifier) bytes(at, n int) []byte {
	if v.err != nil || at < 0 || n > len(v.buf) || at > len(v.buf)-n {
		v.fail(errDamaged)
		return make([]byte, 8)[:n]
	}
	return v.buf[at : at+n]
}

func (v *verifier) byte(at int) byte {
	if at == 0 {
		return 0
	}
	return v.bytes(at, 1)[0]
}

func (v *verifier) uint16(at int) int { return int(binary.LittleEndian.Uint16(v.bytes(at, 2))) }
func (v *verifier) uint32(at int) int { return int(binary.LittleEndian.Uint32(v.bytes(at, 4))) }

// follow returns what a reference refers to.
func (v *verifier) follow(at int) int {
	to := at + v.uint32(at)
	v.bytes(to, 4) // of a table, a vector or a string
	return to
}

func (v *verifier) field(table, i int) int {
	vtable := table - int(int32(v.uint32(table)))
	if 4+2*i >= v.uint16(vtable) { // as readers have it, also where only half of it is there
		return 0
	}
	offset := v.uint16(vtable + 4 + 2*i)
	if offset == 0 {
		return 0
	}
	return table + offset
}

// vector is the elements of a vector in field i, each of size bytes, and how
// many there are. A string is a vector of bytes.
func (v *verifier) vector(table, i, size int) (at, n int) {
	field := v.field(table, i)
	if field == 0 {
		return 0, 0
	}
	at = v.follow(field)
	n = v.uint32(at)
	if n > (len(v.buf)-at-4)/size {
		v.fail(errDamaged)
		return 0, 0
	}
	return at + 4, n
}

// text is the text in field i.
func (v *verifier) text(table, i int) {
	_, n := v.vector(table, i, 1)
	if v.texts -= n; v.texts < 0 {
		v.fail(errDamaged)
	}
}

// tables calls check for each table of a vector of them.
func (v *verifier) tables(table, i int, check func(table int)) {
	at, n := v.vector(table, i, 4)
	for j := range n {
		if v.left--; v.left < 0 {
			v.fail(errFields)
		}
		if v.err != nil {
			return
		}
		check(v.follow(at + 4*j))
	}
}

// pairs are the metadata in field i.
func (v *verifier) pairs(table, i int) {
	v.tables(table, i, func(pair int) {
		v.text(pair, 0)
		v.text(pair, 1)
	})
}

func (v *verifier) schema(table int) {
	if at := v.field(table, 0); at != 0 && v.uint16(at) != 0 {
		v.fail(errBigEndian)
	}
	v.fields(table, 1, 0)
	v.pairs(table, 2)
	v.vector(table, 3, 8)
}

// fields are those in field i of a schema or of another field.
func (v *verifier) fields(table, i, depth int) {
	if depth > v.rules.Depth+1 {
		v.fail(errFields)
		return
	}
	v.tables(table, i, func(field int) {
		v.text(field, 0)
		v.fieldType(field)
		if at := v.field(field, 4); at != 0 {
			if v.rules.Plain {
				v.fail(errDictionary)
			}
			v.reference(v.follow(at), 1)
		}
		v.fields(field, 5, depth+1)
		v.pairs(field, 6)
	})
}

func (v *verifier) fieldType(field int) {
	at := v.field(field, 3)
	if at == 0 {
		v.fail(errDamaged)
		return
	}
	table := v.follow(at)
	switch kind := v.byte(v.field(field, 2)); {
	case kind == 0 || kind > typeLast:
		v.fail(errDamaged)
	case v.rules.Simple && kind == typeRunEnds:
		v.fail(errRunEnds)
	case v.rules.Simple && !v.rules.Views && kind > typeRunEnds:
		v.fail(errViews)
	case kind == typeTimestamp:
		v.text(table, 1)
	case kind == typeUnion:
		v.vector(table, 1, 4)
	}
}

// reference checks that field i, if it is there, refers to something.
func (v *verifier) reference(table, i int) {
	if at := v.field(table, i); at != 0 {
		v.follow(at)
	}
}

func (v *verifier) batch(table int) {
	const pair = 16 // a FieldNode and a Buffer have two numbers of 64 bits
	v.vector(table, 1, pair)
	_, buffers := v.vector(table, 2, pair)
	at, n := v.vector(table, 4, 8) // how many buffers each view has
	for i := range n {
		if count := binary.LittleEndian.Uint64(v.bytes(at+8*i, 8)); count > uint64(buffers) {
			v.fail(errDamaged)
			return
		}
	}
	if v.rules.Simple && v.field(table, 3) != 0 {
		v.fail(errCompressed)
	}
}

func (v *verifier) dictionary(table int) {
	if v.rules.Plain {
		v.fail(errDictionary)
	}
	if v.rules.Simple && v.byte(v.field(table, 2)) != 0 {
		v.fail(errDelta)
	}
	at := v.field(table, 1)
	if at == 0 {
		v.fail(errDamaged)
		return
	}
	v.batch(v.follow(at))
}
