package engine

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/duckdb/duckdb-go/v2/mapping"
)

// instance is one DuckDB. A [DB] has one at a time, and another one after an error that
// made DuckDB refuse all further statements: see [DB.Renew].
//
// What has ended with an instance may still be in use: statements that ignore interrupts
// continue in it. So each connection belongs to an instance, and the last connection to be
// closed closes the instance.
type instance struct {
	db      *DB
	serial  uint64 // from 1
	raw     mapping.Database
	helpers *helpers
	writer  *conn          // of publications; guarded by DB.write
	native  unsafe.Pointer // handle of this instance; see registerNative
	labels  []string       // of the extensions that are loaded
	closed  bool           // guarded by DB.write

	batches sync.Map     // name → handle of a batchFunction
	conns   atomic.Int64 // open connections, and one for the instance itself until it is closed
	retired atomic.Bool  // another one has replaced it
	lost    atomic.Bool  // DuckDB refuses all statements
}

// openInstance opens a DuckDB with the runtime's catalogs and native functions. The caller
// closes what it returns with an error, too. DB.write is held, except by [Open].
func (db *DB) openInstance() (*instance, error) {
	db.instances++
	in := &instance{db: db, serial: db.instances}
	if err := in.openRaw(); err != nil {
		return nil, err
	}
	var err error
	if in.writer, err = in.connect(""); err != nil {
		return in, err
	}
	setup := []string{"ATTACH ':memory:' AS " + CatalogName}
	for _, schema := range []string{Public, System, Core, Prelude} {
		setup = append(setup, "CREATE SCHEMA "+CatalogName+"."+schema)
	}
	for _, sql := range append(setup, searchPath) {
		if err := in.writer.exec(sql); err != nil {
			return in, err
		}
	}
	if db.builtins == nil {
		if db.builtins, err = loadBuiltins(in.writer); err != nil {
			return in, err
		}
	}
	for _, step := range []func() error{
		in.loadExtensions, in.registerNative, in.registerInput, in.registerStream,
		in.makeCtx, in.limitSpill,
	} {
		if err := step(); err != nil {
			return in, err
		}
	}
	return in, nil
}

// openBare opens a DuckDB as it comes, with these folder, threads and limit of memory.
func openBare(opts Options) (*instance, error) {
	in := &instance{db: &DB{opts: withDefaults(opts)}}
	if err := in.openRaw(); err != nil {
		return nil, err
	}
	var err error
	if in.writer, err = in.connect(""); err != nil {
		in.close(true)
		return nil, err
	}
	return in, nil
}

func (in *instance) openRaw() error {
	opts := in.db.opts
	settings := map[string]string{
		"threads":                      strconv.Itoa(opts.Threads),
		"external_threads":             strconv.Itoa(opts.Threads), // see helpers
		"temp_directory":               opts.TempDir,
		"autoinstall_known_extensions": "false",
		"autoload_known_extensions":    "false",
		"allow_community_extensions":   "false",
		"allow_persistent_secrets":     "false",
		"preserve_insertion_order":     "true",
		"custom_user_agent":            "spiced",
		"disabled_optimizers":          DisabledOptimizers,
	}
	if opts.MemoryLimit != "" {
		settings["memory_limit"] = opts.MemoryLimit
	}
	var config mapping.Config
	if mapping.CreateConfig(&config) != mapping.StateSuccess {
		return errors.New("allocate the configuration")
	}
	defer mapping.DestroyConfig(&config)
	for name, value := range settings {
		if mapping.SetConfig(config, name, value) != mapping.StateSuccess {
			return fmt.Errorf("DuckDB does not know the setting %s = %q", name, value)
		}
	}
	var message string
	if mapping.OpenExt(":memory:", &in.raw, config, &message) != mapping.StateSuccess {
		return errors.New(message)
	}
	in.helpers = newHelpers(in.raw.Ptr, opts.Threads-1)
	in.conns.Add(1)
	return nil
}

// lock is [DB.Lock] for one instance.
func (in *instance) lock(roots []string) error {
	folders := make([]string, len(roots))
	for i, r := range roots {
		folders[i] = Literal(r)
	}
	for _, sql := range []string{
		"SET GLOBAL allowed_directories = [" + strings.Join(folders, ", ") + "]",
		// What connect sets on each connection; the guard refuses SET.
		"SET GLOBAL allowed_configs = ['errors_as_json', 'search_path']",
		"SET GLOBAL enable_external_access = false",
		"SET GLOBAL lock_configuration = true",
	} {
		if err := in.writer.exec(sql); err != nil {
			return fmt.Errorf("lock DuckDB: %w", err)
		}
	}
	return nil
}

// connectionBits are those of a number of [instance.number] that DuckDB gives.
const connectionBits = 40

// number makes DuckDB's number of a connection, which each instance begins at 1, unique
// among all instances of the process's [DB].
func (in *instance) number(connection uint64) uint64 { return in.serial<<connectionBits | connection }

// close closes the writer and, unless statements run on, DuckDB. Further calls do nothing.
func (in *instance) close(quiet bool) {
	if in.closed {
		return
	}
	in.closed = true
	if in.writer != nil {
		in.writer.close()
	}
	if quiet {
		in.release()
	}
}

// retire closes an instance that was replaced, once the last statement in it has ended.
func (in *instance) retire() {
	in.retired.Store(true)
	for _, p := range in.db.pools {
		p.dropRetired()
	}
	in.close(true)
}

// hold counts a connection that is opened, unless the instance is closed.
func (in *instance) hold() bool {
	for {
		n := in.conns.Load()
		if n == 0 {
			return false
		}
		if in.conns.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// release counts a connection that was closed, or the instance itself, and frees everything
// with the last one.
func (in *instance) release() {
	if in.conns.Add(-1) > 0 {
		return
	}
	in.helpers.wait()
	mapping.Close(&in.raw)
	if in.native != nil {
		freeHandle(in.native)
	}
	in.batches.Range(func(_, handle any) bool {
		freeHandle(handle.(unsafe.Pointer))
		return true
	})
}
