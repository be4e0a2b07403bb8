package wasm

import (
	"encoding/binary"
	"errors"
)

// Arrow's messages are flatbuffers, whose vectors say how long they are. The library
// allocates that before it reads them, up to hundreds of gigabytes for a message of a few
// bytes, which ends the process; and it copies each text, of which many may be the same
// bytes. So both are checked first.

// The kinds of messages.
const (
	messageSchema = 1
	messageBatch  = 3
)

// The numbers of fields of tables, as Arrow's format has them.
const (
	slotHeaderType, slotHeader, slotBodyLength, slotMessageMetadata = 1, 2, 3, 4
	slotFields, slotSchemaMetadata, slotFeatures                    = 1, 2, 3
	slotTypeKind, slotDictionary, slotChildren, slotFieldMetadata   = 2, 4, 5, 6
	slotName, slotType, slotTimeZone                                = 0, 3, 1
	slotNodes, slotBuffers, slotVariadic                            = 1, 2, 4
)

// maxParts is how many fields a schema has at most, with those of nested types and the
// entries of their metadata.
const maxParts = 10_000

// The types of fields with more than a number in them: unions, which no result has, and
// timestamps.
const (
	kindTimestamp = 10
	kindUnion     = 14
)

var errDictionary = errors.New("a result has no dictionaries; return the values themselves")

// verify checks the messages of a stream. It panics where one points outside of itself.
func verify(data []byte) error {
	for len(data) > 0 {
		size := u32(data, 0)
		data = data[4:]
		if size == 0xFFFFFFFF { // the mark that newer versions write before the size
			size, data = u32(data, 0), data[4:]
		}
		if size == 0 {
			return nil
		}
		body, err := verifyMessage(data[:size:size])
		if err != nil {
			return err
		}
		data = data[size:]
		if body < 0 || body > int64(len(data)) {
			return errInvalid
		}
		data = data[body:]
	}
	return nil
}

// verifyMessage returns the length of the body of a message.
func verifyMessage(data []byte) (body int64, err error) {
	f := &flat{data: data}
	message := f.at(0)
	f.metadata(message, slotMessageMetadata)
	if at := f.slot(message, slotBodyLength); at > 0 {
		body = int64(binary.LittleEndian.Uint64(data[at:]))
	}
	header := f.slot(message, slotHeader)
	if header == 0 {
		return 0, errInvalid
	}
	kind := byte(0)
	if at := f.slot(message, slotHeaderType); at > 0 {
		kind = data[at]
	}
	table := f.at(header)
	switch kind {
	case messageSchema:
		f.metadata(table, slotSchemaMetadata)
		f.vector(table, slotFeatures, 8)
		err = f.fields(table, slotFields, 0)
	case messageBatch:
		f.vector(table, slotNodes, 16)
		f.vector(table, slotBuffers, 16)
		f.vector(table, slotVariadic, 8)
	default:
		return 0, errDictionary
	}
	if err == nil && (f.parts > maxParts || f.texts > len(data)) {
		err = errInvalid
	}
	return body, err
}

// flat is a flatbuffer.
type flat struct {
	data  []byte
	parts int // fields and entries of metadata
	texts int // bytes
}

func u32(data []byte, at int) int { return int(binary.LittleEndian.Uint32(data[at:])) }

// at returns the position that the offset at a position points to.
func (f *flat) at(pos int) int { return pos + u32(f.data, pos) }

// slot returns the position of a field of a table, 0 if it is absent.
func (f *flat) slot(table, n int) int {
	types := table - int(int32(binary.LittleEndian.Uint32(f.data[table:])))
	if size := int(binary.LittleEndian.Uint16(f.data[types:])); 4+2*n >= size {
		return 0
	}
	if at := int(binary.LittleEndian.Uint16(f.data[types+4+2*n:])); at > 0 {
		return table + at
	}
	return 0
}

// vector returns the position and length of a vector, whose elements must be within the
// flatbuffer.
func (f *flat) vector(table, n, size int) (pos, length int) {
	at := f.slot(table, n)
	if at == 0 {
		return 0, 0
	}
	at = f.at(at)
	length = u32(f.data, at)
	_ = f.data[at+4 : at+4+length*size]
	return at + 4, length
}

// text counts the bytes of a text.
func (f *flat) text(table, n int) {
	_, length := f.vector(table, n, 1)
	f.texts += length
}

// metadata checks pairs of texts.
func (f *flat) metadata(table, n int) {
	pos, length := f.vector(table, n, 4)
	for i := 0; i < length && f.parts <= maxParts; i++ {
		f.parts++
		pair := f.at(pos + 4*i)
		f.text(pair, 0)
		f.text(pair, 1)
	}
}

// fields checks the fields of a schema, or the children of one.
func (f *flat) fields(table, n, depth int) error {
	pos, length := f.vector(table, n, 4)
	if f.parts += length; f.parts > maxParts || depth > maxNested {
		return errInvalid
	}
	for i := range length {
		field := f.at(pos + 4*i)
		if f.slot(field, slotDictionary) > 0 {
			return errDictionary
		}
		kind := byte(0)
		if at := f.slot(field, slotTypeKind); at > 0 {
			kind = f.data[at]
		}
		if at := f.slot(field, slotType); at > 0 && kind == kindTimestamp {
			f.text(f.at(at), slotTimeZone)
		} else if kind == kindUnion {
			return errInvalid
		}
		f.text(field, slotName)
		f.metadata(field, slotFieldMetadata)
		if err := f.fields(field, slotChildren, depth+1); err != nil {
			return err
		}
	}
	return nil
}
