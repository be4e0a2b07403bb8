package isolate

import (
	"encoding/binary"
	"fmt"
)

// What checkMeta looks at of a message's metadata: the numbers of the fields in
// Message.fbs of the Arrow columnar format, version 5.
const (
	messageHeaderType = 1
	messageHeader     = 2
	messageCustom     = 4
	batchCompression  = 3

	headerRecordBatch = 3
)

// checkMeta refuses the metadata of what is no batch of rows, and what Arrow's
// reader would allocate memory for by a number that stands there: key-value
// pairs and compressed parts. An encoder writes neither. It does not return
// when an offset leads nowhere, but panics as the reader would.
func checkMeta(meta []byte) error {
	message := flatTable{meta, int64(binary.LittleEndian.Uint32(meta))}
	kind := message.field(messageHeaderType)
	header := message.field(messageHeader)
	if kind == 0 || header == 0 || meta[kind] != headerRecordBatch {
		return fmt.Errorf("%w: a message that is no batch of rows", errFrame)
	}
	batch := flatTable{meta, header + int64(binary.LittleEndian.Uint32(meta[header:]))}
	if message.field(messageCustom) != 0 || batch.field(batchCompression) != 0 {
		return fmt.Errorf("%w: a batch of rows with more than rows", errFrame)
	}
	return nil
}

// flatTable is a table of FlatBuffers (its internals: "Tables"): at its place
// is the distance back to the list of where its fields are.
type flatTable struct {
	buf []byte
	at  int64
}

// field returns the place of a field, 0 if the table does not have it.
func (t flatTable) field(number int64) int64 {
	list := t.at - int64(int32(binary.LittleEndian.Uint32(t.buf[t.at:])))
	entry := 4 + 2*number // after the sizes of the list and of the table
	if entry+2 > int64(binary.LittleEndian.Uint16(t.buf[list:])) {
		return 0
	}
	offset := int64(binary.LittleEndian.Uint16(t.buf[list+entry:]))
	if offset == 0 {
		return 0
	}
	return t.at + offset
}
