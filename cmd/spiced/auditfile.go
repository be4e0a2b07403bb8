package main

import (
	"io"
	"os"
	"sync"
)

// auditFile is the file of the audit log. Records that cannot be written to it go to the
// log; each record tries the file first.
type auditFile struct {
	path   string
	log    io.Writer
	report func(error) // called when writing begins to fail, and with nil when it works again

	mu     sync.Mutex
	file   *os.File // nil: not open
	failed bool
}

// Write writes one record.
func (a *auditFile) Write(record []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	err := a.write(record)
	if failed := err != nil; failed != a.failed {
		a.failed = failed
		a.report(err)
	}
	if err != nil {
		return a.log.Write(record)
	}
	return len(record), nil
}

func (a *auditFile) write(record []byte) (err error) {
	if a.file == nil {
		if a.file, err = os.OpenFile(a.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
			return err
		}
	}
	_, err = a.file.Write(record)
	return err
}

// Close closes the file.
func (a *auditFile) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.file == nil {
		return nil
	}
	return a.file.Close()
}
