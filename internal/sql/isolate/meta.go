package isolate

import (
	"encoding/binary"
	"fmt"
)

// The field numbers that checkMeta uses, from Message.fbs of the Arrow columnar
// format, version 5.
const (
	messageHeaderType = 1
	messageHeader     = 2
	messageCustom     = 4
	batchCompression  = 3

	headerRecordBatch = 3
)

// checkMeta accepts only the metadata of a record batch, and rejects the parts for
// which Arrow's reader would allocate memory by a number in the metadata: key-value
// pairs and compressed buffers. An encoder writes neither. It panics, as the reader
// would, if an offset is out of range.
func checkMeta(meta []byte) error {
	message := flatTable{meta, int64(binary.LittleEndian.Uint32(meta))}
	kind := message.field(messageHeaderType)
	header := message.field(messageHeader)
	if kind == 0 || header == 0 || meta[kind] != headerRecordBatch {
		return fmt.Errorf("%w: a message that is not a record batch", errFrame)
	}
	batch := flatTable{meta, header + int64(binary.LittleEndian.Uint32(meta[header:]))}
	if message.field(messageCustom) != 0 || batch.field(batchCompression) != 0 {
		return fmt.Errorf("%w: a record batch with metadata or compression", errFrame)
	}
	return nil
}

// flatTable is a FlatBuffers table (see "Tables" in its internals): at its position
// is the distance back to the list of field offsets.
type flatTable struct {
	buf []byte
	at  int64
}

// field returns the position of a field, 0 if the table does not have it.
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
