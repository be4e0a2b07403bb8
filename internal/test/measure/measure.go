// Package measure has what the tools that measure and provoke the engine share.
//
//	err := measure.Read(ctx, db, engine.Request{SQL: "FROM range(1000000)"})
//	bytes, err := measure.Memory(os.Getpid(), "VmHWM")
package measure

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// Read runs a statement and reads its rows.
func Read(ctx context.Context, db *engine.DB, r engine.Request) error {
	rows, err := db.Query(ctx, r)
	if err != nil {
		return err
	}
	defer rows.Close()
	for _, err := range rows.Chunks() {
		if err != nil {
			return err
		}
	}
	return nil
}

// Memory returns a field of a process's /proc/PID/status in bytes, such as VmRSS.
func Memory(pid int, field string) (int64, error) {
	path := filepath.Join("/proc", strconv.Itoa(pid), "status")
	status, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte(field+":")); ok {
			kb, err := strconv.ParseInt(string(bytes.Fields(rest)[0]), 10, 64)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("%s has no %s", path, field)
}
