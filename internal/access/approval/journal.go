package approval

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spiced-sql/spiced/internal/kit/disk"
)

// The files in the folder. A damaged one replaces an earlier damaged one.
const (
	journalName = "approvals.journal"
	unfinished  = ".new"
	setAside    = ".damaged"
)

// header is the first line of a journal.
const header = `{"spiced_approvals":1}`

// journal is a file with a line for each change: a checksum, a space and the approval as it
// is since then. A change counts when its line is on the disk. It is not safe for
// concurrent use.
type journal struct {
	path   string
	file   *os.File
	size   int64
	broken error // a line may be incomplete: the journal must be rewritten
	closed bool
}

// openJournal returns the journal in a folder, which it creates, and its approvals in their
// order.
func openJournal(dir string, log *slog.Logger) (*journal, []*entry, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("create the directory of approvals: %w", err)
	}
	j := &journal{path: filepath.Join(dir, journalName)}
	f, err := os.Open(j.path)
	if errors.Is(err, fs.ErrNotExist) {
		return j, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("open the approvals: %w", err)
	}
	list, err := readJournal(f)
	err = errors.Join(err, f.Close())
	if err != nil {
		// A line that is missing may be that of a use: none of the others can be trusted.
		log.Warn("the file of approvals is damaged; no approval of earlier runs counts", "file", j.path, "copy",
			j.path+setAside, "error", err)
		if err := os.Rename(j.path, j.path+setAside); err != nil {
			return nil, nil, fmt.Errorf("set the damaged approvals aside: %w", err)
		}
		return j, nil, nil
	}
	return j, list, nil
}

// readJournal returns the approvals as their last lines say. A last line without its end is
// one that never counted: the process was killed while it wrote.
func readJournal(r io.Reader) ([]*entry, error) {
	limited := &io.LimitedReader{R: r, N: maxFile}
	in := bufio.NewReaderSize(limited, 64<<10)
	byID := map[string]*entry{}
	var list []*entry
	for n := 1; ; n++ {
		text, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) && limited.N > 0 {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		payload, err := disk.LinePayload(bytes.TrimSuffix(text, []byte("\n")))
		switch {
		case err != nil:
		case n == 1 && string(payload) != header:
			err = errors.New("another format")
		case n > 1:
			list, err = take(payload, byID, list)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
}

// take adds the approval of a line, or changes it.
func take(payload []byte, byID map[string]*entry, list []*entry) ([]*entry, error) {
	e := &entry{}
	if err := json.Unmarshal(payload, e); err != nil {
		return nil, err
	}
	switch e.Status {
	case Pending, Approved, Denied, Used:
	default:
		return nil, fmt.Errorf("unknown status %q", e.Status)
	}
	if e.ID == "" || e.Call == "" {
		return nil, errors.New("no id")
	}
	if known := byID[e.ID]; known != nil {
		*known = *e
		return list, nil
	}
	byID[e.ID] = e
	return append(list, e), nil
}

// encode encodes an approval with its arguments as they are.
func encode(e *entry) ([]byte, error) {
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	err := out.Encode(e)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

var errClosed = errors.New("the approvals are closed")

// append writes a change to the disk.
func (j *journal) append(e *entry) error {
	if j.closed {
		return errClosed
	}
	if j.broken != nil {
		return j.broken
	}
	payload, err := encode(e)
	if err != nil {
		return err
	}
	before := j.size
	n, err := j.file.Write(disk.AppendLine(nil, payload))
	j.size += int64(n)
	if err == nil {
		err = j.file.Sync()
	}
	if err != nil && j.cut(before) != nil {
		j.broken = err
	}
	return err
}

// cut removes a line that does not count.
func (j *journal) cut(size int64) error {
	if err := j.file.Truncate(size); err != nil {
		return err
	}
	if _, err := j.file.Seek(size, io.SeekStart); err != nil {
		return err
	}
	j.size = size
	return j.file.Sync()
}

// rewrite replaces the journal by one with these approvals.
func (j *journal) rewrite(list []*entry) error {
	if j.closed {
		return errClosed
	}
	f, err := os.OpenFile(j.path+unfinished, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write the approvals: %w", err)
	}
	size, err := writeAll(f, list)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = os.Rename(f.Name(), j.path)
	}
	if err == nil {
		err = disk.SyncDir(filepath.Dir(j.path))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write the approvals: %w", err), f.Close())
	}
	if j.file != nil {
		j.file.Close() // its content is in the new file
	}
	j.file, j.size, j.broken = f, size, nil
	return nil
}

func writeAll(w io.Writer, list []*entry) (int64, error) {
	out := bufio.NewWriterSize(w, 64<<10)
	n, err := out.Write(disk.AppendLine(nil, []byte(header)))
	size := int64(n)
	for i := 0; err == nil && i < len(list); i++ {
		var payload []byte
		if payload, err = encode(list[i]); err == nil {
			n, err = out.Write(disk.AppendLine(nil, payload))
			size += int64(n)
		}
	}
	return size, errors.Join(err, out.Flush())
}

func (j *journal) close() error {
	if j.file == nil {
		return nil
	}
	j.closed = true
	return j.file.Close()
}
