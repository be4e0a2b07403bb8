package usage

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"time"
)

// format is the version of the files.
const format = 1

// head is the first record of a file.
type head struct {
	Format     int       `json:"spiced_usage"`
	Generation uint64    `json:"generation"`
	Since      time.Time `json:"since"`
	Records    int       `json:"records,omitempty"` // of a snapshot, excluding this one
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const checksumDigits = 8

// appendRecord appends a line: checksum, space, JSON, line feed.
func appendRecord(dst []byte, v any) ([]byte, error) {
	payload, err := json.Marshal(v)
	if err != nil {
		return dst, fmt.Errorf("encode usage: %w", err)
	}
	dst = fmt.Appendf(dst, "%0*x ", checksumDigits, crc32.Checksum(payload, castagnoli))
	return append(append(dst, payload...), '\n'), nil
}

// payloadOf returns the JSON of a line with a valid checksum.
func payloadOf(line []byte) ([]byte, error) {
	sum, payload, ok := bytes.Cut(line, []byte(" "))
	if !ok || len(sum) != checksumDigits {
		return nil, errors.New("no checksum")
	}
	want, err := strconv.ParseUint(string(sum), 16, 32)
	if err != nil || uint32(want) != crc32.Checksum(payload, castagnoli) {
		return nil, errors.New("wrong checksum")
	}
	return payload, nil
}

// errTorn means that the last record of a file is incomplete, because a process was
// killed. All records before it were read.
var errTorn = errors.New("the last record is incomplete")

// readFile reads a journal or a snapshot and passes each batch to take, unless the file
// is older than a generation. It stops at the first record that is invalid or that take
// rejects. If there is no valid head, it returns a zero one.
func readFile(r io.Reader, oldest uint64, take func(batch) error) (head, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxRecord+checksumDigits+2)
	var h head
	n := 0
	for ; lines.Scan(); n++ {
		payload, err := payloadOf(lines.Bytes())
		switch {
		case err != nil && !lines.Scan() && lines.Err() == nil:
			return h, errTorn
		case err == nil && n == 0:
			if err = h.decode(payload); err == nil && h.Generation < oldest {
				return h, nil
			}
		case err == nil:
			err = decodeBatch(payload, take)
		}
		if err != nil {
			return h, fmt.Errorf("record %d: %w", n+1, err)
		}
	}
	if h.Records > 0 && n != 1+h.Records && lines.Err() == nil {
		return h, fmt.Errorf("it ends after %d of %d records", n, 1+h.Records)
	}
	return h, lines.Err()
}

func (h *head) decode(payload []byte) error {
	var got head
	if err := json.Unmarshal(payload, &got); err != nil {
		return err
	}
	if got.Format != format || got.Generation == 0 {
		return fmt.Errorf("format %d, generation %d: want format %d, which this spiced writes", got.Format, got.Generation, format)
	}
	*h = got
	return nil
}

func decodeBatch(payload []byte, take func(batch) error) error {
	var b batch
	if err := json.Unmarshal(payload, &b); err != nil {
		return err
	}
	return take(b)
}
