package registry

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"sync"

	"github.com/spiced-sql/spiced/internal/find/embeddings"
)

// maxVectors is the maximum number of stored vectors per model.
const maxVectors = 200_000

// vectors stores the vectors of tools' texts by model and checksum, across
// restarts if there is a folder. One caller computes missing vectors, the
// others wait.
type vectors struct {
	dir string
	log *slog.Logger

	mu     sync.Mutex
	models map[string]*modelVectors
}

// modelVectors are the vectors of one model.
type modelVectors struct {
	mu     sync.Mutex // held while vectors are computed
	path   string     // "": not stored
	loaded bool
	byText map[string][]float32 // by the 16 bytes of a text's checksum
}

// embeddedForm names the form in which tools are embedded: another one makes the stored
// vectors invalid.
const embeddedForm = "name: description\n"

func newVectors(dir string, log *slog.Logger) *vectors {
	return &vectors{dir: dir, log: log, models: map[string]*modelVectors{}}
}

func (v *vectors) model(m embeddings.Model) *modelVectors {
	v.mu.Lock()
	defer v.mu.Unlock()
	key := embeddedForm + m.Fingerprint()
	known := v.models[key]
	if known == nil {
		known = &modelVectors{byText: map[string][]float32{}}
		if _, ok := m.(embeddings.Builtin); !ok && v.dir != "" {
			sum := sha256.Sum256([]byte(key))
			known.path = filepath.Join(v.dir, hex.EncodeToString(sum[:8])+".vectors")
		}
		v.models[key] = known
	}
	return known
}

// of returns the vectors of the tools of c, in order, and computes missing ones
// with the model.
func (v *vectors) of(ctx context.Context, c *Catalog, m embeddings.Model) ([][]float32, error) {
	known := v.model(m)
	known.mu.Lock()
	defer known.mu.Unlock()
	if !known.loaded {
		known.loaded = true
		if err := known.load(); err != nil {
			v.log.Warn("vectors of earlier runs are not used", "file", known.path, "error", err)
		}
	}
	var missing []*entry
	var embedded []embeddings.Tool
	for _, e := range c.entries {
		if known.byText[e.docSum] == nil {
			missing = append(missing, e)
			embedded = append(embedded, embeddings.Tool{
				Name: e.def.Name, Description: e.def.Description, Parameters: e.def.Parameters,
			})
		}
	}
	made, err := embeddings.EmbedTools(ctx, m, embedded)
	if err != nil {
		return nil, err
	}
	if known.otherDimensions(made) {
		clear(known.byText) // the provider changed the dimensions
		return nil, fmt.Errorf("embedding model %q gives vectors of %d dimensions now; the next search computes "+
			"all vectors again", m.Name(), len(made[0]))
	}
	if len(known.byText)+len(made) > maxVectors {
		clear(known.byText)
		return nil, fmt.Errorf("more than %d vectors", maxVectors)
	}
	for i, e := range missing {
		known.byText[e.docSum] = made[i]
	}
	if err := known.save(missing); err != nil {
		v.log.Warn("vectors are not kept for the next run", "file", known.path, "error", err)
	}
	rows := make([][]float32, len(c.entries))
	for i, e := range c.entries {
		rows[i] = known.byText[e.docSum]
	}
	return rows, nil
}

// otherDimensions reports whether the dimensions of new vectors differ from the
// known ones.
func (k *modelVectors) otherDimensions(made [][]float32) bool {
	for _, row := range k.byText {
		return len(made) > 0 && len(made[0]) != len(row)
	}
	return false
}

// A file of vectors is a list of records, little-endian: the checksum of the
// text, 16 bytes; the number of dimensions, uint32; the vector, float32 each;
// the CRC-32C of these fields, uint32. Reading truncates the file after the
// last complete record.
const checksumBytes = 16

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (k *modelVectors) load() error {
	if k.path == "" {
		return nil
	}
	f, err := os.OpenFile(k.path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<20)
	for whole := int64(0); len(k.byText) < maxVectors; {
		sum, row, size, err := readVector(in)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return errors.Join(err, f.Truncate(whole))
		}
		k.byText[sum] = row
		whole += size
	}
	return nil
}

// readVector reads one record. The error is io.EOF at the end of the list.
func readVector(in io.Reader) (sum string, row []float32, size int64, err error) {
	raw := make([]byte, checksumBytes+4)
	if _, err := io.ReadFull(in, raw); err != nil {
		return "", nil, 0, err
	}
	n := int(binary.LittleEndian.Uint32(raw[checksumBytes:]))
	if n == 0 || n > embeddings.MaxDimensions {
		return "", nil, 0, fmt.Errorf("a vector of %d dimensions", n)
	}
	raw = append(raw, make([]byte, 4*n+4)...)
	if _, err := io.ReadFull(in, raw[checksumBytes+4:]); err != nil {
		return "", nil, 0, fmt.Errorf("the last vector is cut off: %w", io.ErrUnexpectedEOF)
	}
	body := raw[:len(raw)-4]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(raw[len(body):]) {
		return "", nil, 0, errors.New("a vector is damaged")
	}
	row = make([]float32, n)
	for i := range row {
		row[i] = math.Float32frombits(binary.LittleEndian.Uint32(body[checksumBytes+4+4*i:]))
	}
	return string(body[:checksumBytes]), row, int64(len(raw)), nil
}

// save appends the vectors of entries to the file.
func (k *modelVectors) save(entries []*entry) error {
	if k.path == "" || len(entries) == 0 {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(k.path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(k.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(f)
	for _, e := range entries {
		row := k.byText[e.docSum]
		raw := binary.LittleEndian.AppendUint32([]byte(e.docSum), uint32(len(row)))
		for _, x := range row {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
		}
		raw = binary.LittleEndian.AppendUint32(raw, crc32.Checksum(raw, castagnoli))
		if _, err := out.Write(raw); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return errors.Join(out.Flush(), f.Close())
}
