package engine

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/disk"
)

// leastSpill is the smallest default of [Options.MaxSpill].
const leastSpill = 1 << 30

// limitSpill applies [Options.MaxSpill]. DuckDB ignores the setting in the
// configuration that it is opened with.
func (in *instance) limitSpill() error {
	spill := in.db.opts.MaxSpill
	if spill == 0 {
		spill = defaultSpill(in.db.opts.TempDir)
	}
	return in.writer.exec(fmt.Sprintf("SET GLOBAL max_temp_directory_size = '%dB'", spill))
}

// defaultSpill is how many bytes DuckDB may spill to a folder by default: a tenth of
// what is free, at least 1 GiB, but never more than is free.
func defaultSpill(dir string) int64 {
	free, ok := disk.Free(dir)
	if !ok {
		return leastSpill
	}
	return min(max(free/10, leastSpill), free)
}

// memoryLimit is DuckDB's limit of memory, in bytes.
func (in *instance) memoryLimit() (limit int64, err error) {
	err = in.writer.each("SELECT current_setting('memory_limit')", func(c *Chunk) error {
		limit, err = parseSize(string(c.Column(0).Bytes(0)))
		return err
	})
	return limit, err
}

// units are those in which DuckDB writes sizes.
var units = map[string]float64{
	"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
	"PiB": 1 << 50,
}

// parseSize reads a size as DuckDB writes it, such as "12.5 GiB".
func parseSize(text string) (int64, error) {
	number, unit, _ := strings.Cut(text, " ")
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || units[unit] == 0 {
		return 0, fmt.Errorf("DuckDB's memory limit is %q", text)
	}
	return int64(n * units[unit]), nil
}

// residentBytes is the resident memory of the process, 0 where it cannot be read.
func residentBytes() int64 {
	b, err := os.ReadFile("/proc/self/statm") // see proc_pid_statm(5)
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(b), " ")
	resident, _, _ := strings.Cut(rest, " ")
	pages, _ := strconv.ParseInt(resident, 10, 64)
	return pages * int64(os.Getpagesize())
}
