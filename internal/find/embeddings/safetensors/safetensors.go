// Package safetensors reads tensors from files in the format of Hugging Face's
// safetensors: the size of the header, uint64; the header, a JSON object of
// tensors; their data. All is little-endian. The format's description in the
// README of github.com/huggingface/safetensors is the source.
//
//	f, err := safetensors.Read(in, size)
//	weights, err := f.Floats("encoder.layer.0.output.dense.weight", 384, 1536)
//
// A file is checked before it is trusted: nothing is allocated that the file's
// own size does not justify.
package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
)

const (
	// MaxHeaderBytes limits the header.
	MaxHeaderBytes = 8 << 20
	// MaxTensors limits the tensors of a file.
	MaxTensors = 20_000
	maxRank    = 8
)

// sizes are the bytes of an element by dtype.
var sizes = map[string]int64{
	"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1,
	"U64": 8, "U32": 4, "U16": 2, "U8": 1, "BOOL": 1, "F8_E4M3": 1, "F8_E5M2": 1,
}

// tensor is one entry of the header.
type tensor struct {
	DType   string   `json:"dtype"`
	Shape   []int64  `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"` // begin and end, from the end of the header
}

// File is a file whose header was read. It is safe for concurrent use.
type File struct {
	in      io.ReaderAt
	data    int64 // where the data begins
	tensors map[string]tensor
}

// Read reads and checks the header of a file of a number of bytes.
func Read(in io.ReaderAt, size int64) (*File, error) {
	var first [8]byte
	if size < int64(len(first)) {
		return nil, fmt.Errorf("not a safetensors file: it has %d bytes", size)
	}
	if _, err := in.ReadAt(first[:], 0); err != nil {
		return nil, err
	}
	length := binary.LittleEndian.Uint64(first[:])
	if length > MaxHeaderBytes || int64(length) > size-int64(len(first)) {
		return nil, fmt.Errorf("not a safetensors file: its header would have %d bytes; at most %d are supported, "+
			"and the file has %d", length, MaxHeaderBytes, size)
	}
	raw := make([]byte, length)
	if _, err := in.ReadAt(raw, int64(len(first))); err != nil {
		return nil, err
	}
	f := &File{in: in, data: int64(len(first)) + int64(length)}
	if err := f.parse(raw); err != nil {
		return nil, fmt.Errorf("safetensors header: %w", err)
	}
	return f, f.check(size - f.data)
}

// parse decodes the header. Its key __metadata__ is no tensor.
func (f *File) parse(raw []byte) error {
	var entries map[string]json.RawMessage
	if err := json.Unmarshal(raw, &entries); err != nil {
		return err
	}
	if len(entries) > MaxTensors {
		return fmt.Errorf("%d tensors; at most %d are supported", len(entries), MaxTensors)
	}
	f.tensors = make(map[string]tensor, len(entries))
	for name, entry := range entries {
		if name == "__metadata__" {
			continue
		}
		var t tensor
		decoder := json.NewDecoder(bytes.NewReader(entry))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&t); err != nil {
			return fmt.Errorf("tensor %q: %w", name, err)
		}
		if err := t.check(); err != nil {
			return fmt.Errorf("tensor %q: %w", name, err)
		}
		f.tensors[name] = t
	}
	return nil
}

// check compares the bytes of a tensor with its shape.
func (t tensor) check() error {
	n, known := sizes[t.DType]
	if !known {
		return fmt.Errorf("dtype %q is not known", t.DType)
	}
	if len(t.Shape) > maxRank {
		return fmt.Errorf("%d dimensions; at most %d are supported", len(t.Shape), maxRank)
	}
	for _, d := range t.Shape {
		if d < 0 || d > 0 && n > math.MaxInt64/d {
			return fmt.Errorf("shape %d is not possible", t.Shape)
		}
		n *= d
	}
	if t.Offsets[0] < 0 || t.Offsets[1] < t.Offsets[0] || t.Offsets[1]-t.Offsets[0] != n {
		return fmt.Errorf("shape %d of %s takes %d bytes, but data_offsets are %d", t.Shape, t.DType, n, t.Offsets)
	}
	return nil
}

// check refuses tensors that overlap, and data that belongs to none, as the
// format demands.
func (f *File) check(bytes int64) error {
	all := make([][2]int64, 0, len(f.tensors))
	for _, t := range f.tensors {
		all = append(all, t.Offsets)
	}
	slices.SortFunc(all, func(a, b [2]int64) int { return slices.Compare(a[:], b[:]) })
	end := int64(0)
	for _, at := range all {
		if at[0] != end {
			return fmt.Errorf("safetensors header: a tensor begins at byte %d; the one before ends at %d", at[0], end)
		}
		end = at[1]
	}
	if end != bytes {
		return fmt.Errorf("the tensors have %d bytes of data, and the file %d: it is incomplete, or has other data",
			end, bytes)
	}
	return nil
}

// Has reports whether there is a tensor of a name.
func (f *File) Has(name string) bool {
	_, ok := f.tensors[name]
	return ok
}

// Floats returns a tensor of F32, F16 or BF16 with a shape, row by row.
func (f *File) Floats(name string, shape ...int) ([]float32, error) {
	t, ok := f.tensors[name]
	if !ok {
		return nil, fmt.Errorf("tensor %q is missing", name)
	}
	if len(shape) != len(t.Shape) || slices.ContainsFunc(t.Shape, func(d int64) bool { return d > math.MaxInt32 }) {
		return nil, fmt.Errorf("tensor %q has shape %d; %d is needed", name, t.Shape, shape)
	}
	for i, d := range shape {
		if t.Shape[i] != int64(d) {
			return nil, fmt.Errorf("tensor %q has shape %d; %d is needed", name, t.Shape, shape)
		}
	}
	decode := decoders[t.DType]
	if decode == nil {
		return nil, fmt.Errorf("tensor %q is of %s; F32, F16 and BF16 are supported", name, t.DType)
	}
	size := sizes[t.DType]
	values := make([]float32, (t.Offsets[1]-t.Offsets[0])/size)
	in := io.NewSectionReader(f.in, f.data+t.Offsets[0], t.Offsets[1]-t.Offsets[0])
	chunk := make([]byte, 64<<10)
	for at := 0; at < len(values); {
		part := chunk[:min(len(chunk), (len(values)-at)*int(size))]
		if _, err := io.ReadFull(in, part); err != nil {
			return nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		decode(values[at:], part)
		at += len(part) / int(size)
	}
	for i, x := range values {
		if x-x != 0 {
			return nil, fmt.Errorf("tensor %q: value %d is not finite", name, i)
		}
	}
	return values, nil
}

// decoders write the values of raw to the begin of values.
var decoders = map[string]func(values []float32, raw []byte){
	"F32": func(values []float32, raw []byte) {
		for i := range len(raw) / 4 {
			values[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		}
	},
	"F16": func(values []float32, raw []byte) {
		for i := range len(raw) / 2 {
			values[i] = half(binary.LittleEndian.Uint16(raw[2*i:]))
		}
	},
	"BF16": func(values []float32, raw []byte) {
		for i := range len(raw) / 2 {
			values[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(raw[2*i:])) << 16)
		}
	},
}

// half converts a binary16 of IEEE 754.
func half(bits uint16) float32 {
	sign, exponent, fraction := uint32(bits>>15)<<31, uint32(bits>>10&0x1f), uint32(bits&0x3ff)
	switch exponent {
	case 0: // zero, or subnormal
		x := float32(fraction) / (1 << 24)
		return math.Float32frombits(math.Float32bits(x) | sign)
	case 0x1f: // infinite, or not a number
		return math.Float32frombits(sign | 0xff<<23 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}
