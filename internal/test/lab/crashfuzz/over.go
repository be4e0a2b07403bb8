package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/test/measure"
)

// With -over, each hostile statement reads a table of spiced or a writable one, or writes
// it, and memory and processor time of the runtime's own process are findings: in it, a
// statement can neither be killed nor limited.

// overTables adds a table that a caller may write.
const overTables = "datasets: [{ name: w, from: 'duckdb:w.db', access: read_write }]\n"

// settle is how long after its client has left a statement may use the processor.
const settle = 2 * time.Second

// Statements over such tables with another one inside.
var (
	reads  = []string{"SELECT * FROM (%s) AS hostile, (SELECT count(*) FROM spiced.tools) AS t", "SELECT * FROM (%s) AS hostile, (SELECT count(*) FROM w) AS t"}
	writes = []string{
		"INSERT INTO w SELECT count(*) FROM (%s) AS hostile", "DELETE FROM w WHERE n = (SELECT count(*) FROM (%s) AS hostile)",
		"UPDATE w SET n = (SELECT count(*) FROM (%s) AS hostile) RETURNING n",
	}
	// Of these, some are computed in the runtime, if the expression is simple or stays there.
	writesOne = []string{
		"INSERT INTO w VALUES (CASE WHEN (%s) IS NULL THEN 1 END)", "UPDATE w SET n = length(CAST((%s) AS VARCHAR))",
		"DELETE FROM w WHERE (%s) IS NOT DISTINCT FROM NULL", "INSERT INTO w VALUES (1) RETURNING (%s) IS NULL",
	}
)

// over returns turn i of a subject, whose statement is sql, over such tables, and the key to
// send it with.
func over(i int, sql string) (statement, key string) {
	expression, one := strings.CutPrefix(sql, "SELECT ")
	switch expression, _, _ = strings.Cut(expression, " AS a"); {
	case i%2 == 0:
		return fmt.Sprintf(reads[i/2%len(reads)], sql), hostileKey
	case one && !strings.Contains(sql, " FROM ") && i%4 == 1:
		return fmt.Sprintf(writesOne[i/4%len(writesOne)], expression), writerKey
	}
	return fmt.Sprintf(writes[i/2%len(writes)], sql), writerKey
}

// makeTable makes the file of overTables.
func makeTable(ctx context.Context, dir string) error {
	db, err := engine.Open(ctx, engine.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	for _, sql := range []string{
		"ATTACH " + engine.Literal(filepath.Join(dir, "w.db")) + " AS made", "CREATE TABLE made.w AS SELECT 1::BIGINT AS n",
		"DETACH made",
	} {
		if err := db.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// watched sends a hostile statement and returns the kind of the answer, and what it did to
// the process: a class, or "".
func (s *server) watched(ctx context.Context, key, sql string) (kind, class string) {
	_ = os.WriteFile(filepath.Join("/proc", strconv.Itoa(s.pid), "clear_refs"), []byte("5"), 0) // of the peak
	before, _ := measure.Memory(s.pid, "VmRSS")
	kind = s.attack(ctx, key, sql)
	if peak, err := measure.Memory(s.pid, "VmHWM"); err == nil && peak-before > mostMemory {
		class = memoryClass
	}
	if kind != clientLeft || ctx.Err() != nil {
		return kind, class
	}
	select {
	case <-time.After(settle):
	case <-ctx.Done():
		return kind, class
	}
	used := s.processorTime()
	select {
	case <-time.After(settle):
	case <-ctx.Done():
		return kind, class
	}
	if s.processorTime()-used > settle/2 {
		class = hang
	}
	return kind, class
}

// processorTime is what the process has used, without its workers: see proc_pid_stat(5).
func (s *server) processorTime() time.Duration {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(s.pid), "stat"))
	if err != nil {
		return 0
	}
	const user, system, second = 11, 12, 100 // fields after the name, in ticks
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	var ticks int64
	for _, i := range []int{user, system} {
		n, _ := strconv.ParseInt(string(fields[i]), 10, 64)
		ticks += n
	}
	return time.Duration(ticks) * time.Second / second
}

// overResult is the error of a run with findings.
func overResult(found []finding) error {
	if len(found) == 0 {
		return nil
	}
	return fmt.Errorf("%d statements took memory of spiced's process, or its processor after their client had left", len(found))
}
