package safetensors_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/find/embeddings/safetensors"
)

func file(header string, data ...byte) []byte {
	return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...), data...)
}

func read(raw []byte) (*safetensors.File, error) {
	return safetensors.Read(bytes.NewReader(raw), int64(len(raw)))
}

func TestFloats(t *testing.T) {
	f, err := read(file(`{"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},`+
		`"h":{"dtype":"F16","shape":[6],"data_offsets":[8,20]},"b":{"dtype":"BF16","shape":[],"data_offsets":[20,22]},`+
		`"none":{"dtype":"F32","shape":[0,9],"data_offsets":[22,22]},"nan":{"dtype":"F32","shape":[1],"data_offsets":[22,26]}}  `,
		0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0, // 1, -2
		0, 0x3c, 0, 0xc0, 1, 0, 0xff, 0x7b, 0, 0x80, 0x55, 0x35, // 1, -2, 2^-24, 65504, -0, 0.33325
		0x80, 0x3f, 0, 0, 0xc0, 0x7f))
	if err != nil {
		t.Fatal(err)
	}
	check := func(name string, want []float32, shape ...int) {
		t.Helper()
		if got, err := f.Floats(name, shape...); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v; want %v", name, got, err, want)
		}
	}
	check("a", []float32{1, -2}, 1, 2)
	check("h", []float32{1, -2, 1.0 / (1 << 24), 65504, float32(math.Copysign(0, -1)), 0.333251953125}, 6)
	check("b", []float32{1})
	check("none", []float32{}, 0, 9)
	for name, want := range map[string]string{"nan": "value 0 is not finite", "a": "has shape [1 2]; [1] is needed", "c": `tensor "c" is missing`} {
		if _, err := f.Floats(name, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", name, err, want)
		}
	}
	if !f.Has("a") || f.Has("__metadata__") {
		t.Error("Has")
	}
}

func TestDamagedFiles(t *testing.T) {
	const entry = `{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}`
	data := make([]byte, 16)
	for want, raw := range map[string][]byte{
		"it has 3 bytes":       {1, 2, 3},
		"its header would":     append(binary.LittleEndian.AppendUint64(nil, math.MaxUint64), "{}"...),
		"the file has 10":      append(binary.LittleEndian.AppendUint64(nil, 3), "{}"...),
		"unexpected end":       file(entry),
		"16 bytes, but data":   file(strings.Replace(entry, "[2]", "[4]", 1)+"}", data[:8]...),
		"is incomplete":        file(entry+"}", data[:7]...),
		"other data":           file(entry+"}", data[:9]...),
		"begins at byte 4":     file(entry+`,"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}`, data[:12]...),
		"begins at byte 12":    file(entry+`,"b":{"dtype":"F32","shape":[1],"data_offsets":[12,16]}}`, data...),
		"is not possible":      file(`{"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}}`),
		"shape [-1]":           file(`{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,0]}}`),
		`dtype "q" is not`:     file(`{"a":{"dtype":"q","shape":[],"data_offsets":[0,0]}}`),
		"unknown field":        file(`{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"x":1}}`),
		"9 dimensions":         file(`{"a":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,1]}}`, 0),
		"data_offsets are [4 ": file(`{"a":{"dtype":"U8","shape":[0],"data_offsets":[4,0]}}`, data...),
	} {
		if _, err := read(raw); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", raw, err, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(file(`{"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}`, make([]byte, 8)...))
	f.Add(file(`{"__metadata__":{},"a":{"dtype":"BF16","shape":[],"data_offsets":[0,2]}}`, 1, 2))
	f.Fuzz(func(t *testing.T, raw []byte) {
		in, err := read(raw)
		if err != nil {
			return
		}
		for _, shape := range [][]int{{}, {1}, {2}, {1, 2}} {
			values, err := in.Floats("a", shape...)
			n := 1
			for _, d := range shape {
				n *= d
			}
			if err == nil && len(values) != n {
				t.Fatalf("%d values of shape %d", len(values), shape)
			}
		}
	})
}
