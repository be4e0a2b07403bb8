package usage

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/disk"
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

// appendRecord appends a line: checksum, space, JSON, line feed.
func appendRecord(dst []byte, v any) ([]byte, error) {
	payload, err := json.Marshal(v)
	if err != nil {
		return dst, fmt.Errorf("encode usage: %w", err)
	}
	return disk.AppendLine(dst, payload), nil
}

// errTorn means that the last record of a file is incomplete, because a process was
// killed. All records before it were read.
var errTorn = errors.New("the last record is incomplete")

// readFile reads a journal or a snapshot and passes each batch to take, unless the file
// is older than a generation. It stops at the first record that is invalid or that take
// rejects. If there is no valid head, it returns a zero one.
func readFile(r io.Reader, oldest uint64, take func(batch) error) (head, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxRecord+disk.LineOverhead)
	var h head
	n := 0
	for ; lines.Scan(); n++ {
		payload, err := disk.LinePayload(lines.Bytes())
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
		return fmt.Errorf("format %d, generation %d: want format %d, which this spiced writes", got.Format,
			got.Generation, format)
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
