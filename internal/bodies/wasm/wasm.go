// Package wasm runs bodies that are WebAssembly modules: functions with `from: wasm`.
//
//	b, err := wasm.Maker{Cache: folder}.New(ctx, spec)
//	…
//	values, err := b.Call(ctx, batch)
//
// A module is one of three:
//   - It takes and returns numbers: a function of the module is called for each row.
//   - It has Spice's exports: it gets and returns Arrow IPC streams.
//   - It is a command with WASI: it reads rows as JSON from its input and writes values to
//     its output. Its function names a sandbox with `runtime: wasm`.
//
// The module may be hostile. Its only imports are those of WASI, which show it its
// input, its outputs and its secrets; each call has a new instance; memory, time and
// instructions are bounded; and what it returns is checked before it is used. See
// docs/decisions/0062.
package wasm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/spiced-sql/spiced/internal/bodies/body"
	"github.com/spiced-sql/spiced/internal/kit/arrowipc"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/spicepod"
)

// Kind is the kind of bodies from wasm.
var Kind = body.Kind{
	BodyKind: spicepod.BodyKind{
		Schemes: []string{"wasm"}, Runtime: spicepod.RuntimeWASM, Cheap: true,
		Keys:      []string{"body", "body_ref", "sandbox", "secrets", "entrypoint"},
		FileParam: "module", BothHint: "the table that a module reads is passed in the call: declare it in signature.tables",
	},
	Open: func(h body.Host) body.Maker { return Maker{Cache: filepath.Join(h.Dir, "wasm"), Log: h.Log} },
}

// Maker makes bodies of modules.
type Maker struct {
	// Cache is the folder of compiled modules; "" compiles at each load.
	Cache string
	// Log gets what is wrong with the cache; nil logs nothing.
	Log *slog.Logger
	// Instances is how many calls run at once, at most; 0 means two for each processor.
	Instances int
}

// The defaults of params, which are Spice's, and their limits.
const (
	defaultFuel     = 100_000_000
	defaultMemory   = 64 << 20
	defaultElements = 1_000_000
	maxMemory       = 4 << 30
	maxElements     = 10_000_000
	maxFuel         = 1 << 60
	pageSize        = 64 << 10
)

// Params are the params of functions with `from: wasm`.
var Params = []spicepod.Param{
	{
		Name: "module", Type: spicepod.ParamText,
		Doc: "File with the module, relative to the file that names it. Instead of body_ref.",
	},
	{
		Name: "entrypoint", Type: spicepod.ParamText,
		Doc: "The exported function that a call runs. Without it: the function's name if that is exported, else " +
			"spice_transform.",
	},
	{
		Name: "fuel", Type: spicepod.ParamInt,
		Doc: "Instructions that a call may run, about: each call of a function in the module and each iteration of a loop " +
			"counts its instructions, at most 100. Without it: 100000000.",
	},
	{
		Name: "max_memory_bytes", Type: spicepod.ParamSize,
		Doc: "Size of the memory of a call, and of its result. Without it: 64MiB.",
	},
	{
		Name: "max_table_elements", Type: spicepod.ParamInt,
		Doc: "Elements of each table of the module. Without it: 1000000.",
	},
}

// notServed are params of Spice that are not params here, with what to do instead.
var notServed = map[string]string{
	"source":      "compile the source, and name the module in params.module",
	"language":    "compile the source, and name the module in params.module",
	"input_table": "declare the table in signature.tables and pass it in the call, or from a SQL function",
}

type limits struct {
	fuel     int64
	memory   uint64 // bytes, in whole pages
	elements uint64
}

// Body is the body of a function.
type Body struct {
	spec       body.Spec
	entrypoint string
	limits     limits
	tables     int
	results    []arrow.Field
	command    *command // nil: not one with WASI
	form       func(context.Context, arrow.RecordBatch) (arrow.Array, error)

	runtime  wazero.Runtime
	cache    wazero.CompilationCache
	compiled wazero.CompiledModule
	config   wazero.ModuleConfig
	memories *memories
	slots    chan struct{}
	closing  sync.Once
	closed   chan struct{}
}

var _ body.Body = (*Body)(nil)

// New compiles the module of a function. The error of a declaration is [spicepod.Problems].
func (maker Maker) New(ctx context.Context, spec body.Spec) (body.Body, error) {
	e := &spicepod.Entry{
		Pod: spec.Pod, Path: spec.Path, Component: "function " + spec.Declared.Name,
		Params: spec.Declared.Params,
	}
	d := declared{Entry: e, spec: spec}
	b := d.read()
	if b == nil {
		return nil, e.Problems
	}
	m, code := d.check(b)
	if e.Fault() != nil {
		return nil, e.Problems
	}
	if b.slots = make(chan struct{}, instances(maker)); pooled && m.memories > 0 {
		b.memories = &memories{size: b.limits.memory, most: cap(b.slots)}
	}
	if err := b.compile(ctx, code, maker); err != nil {
		d.Fail(d.at(), "", "failed to compile WASM module '%s': %s", d.file(), cause(err))
		return nil, e.Problems
	}
	return b, nil
}

func instances(maker Maker) int {
	if maker.Instances > 0 {
		return maker.Instances
	}
	return 2 * runtime.GOMAXPROCS(0)
}

// Call implements [body.Body].
func (b *Body) Call(ctx context.Context, batch arrow.RecordBatch) (result arrow.Array, err error) {
	defer func() {
		if r := recover(); r != nil {
			result, err = nil, fmt.Errorf("WASM function call '%s' failed: internal error", b.entrypoint)
		}
	}()
	return b.form(ctx, batch)
}

// Close ends the calls that run and waits for them.
func (b *Body) Close() error {
	var err error
	b.closing.Do(func() {
		close(b.closed)
		for range cap(b.slots) {
			b.slots <- struct{}{}
		}
		err = b.runtime.Close(context.Background())
		if b.cache != nil {
			err = errors.Join(err, b.cache.Close(context.Background()))
		}
		if b.memories != nil {
			b.memories.close()
		}
	})
	return err
}

// isClosed reports whether the body is being closed.
func (b *Body) isClosed() bool {
	select {
	case <-b.closed:
		return true
	default:
		return false
	}
}

// declared is the declaration of a function while it is checked.
type declared struct {
	*spicepod.Entry
	spec body.Spec
}

// at is the path of the module.
func (d *declared) at() string {
	switch {
	case d.Params.Has("module"):
		return spicepod.ParamPath("module")
	case d.spec.Declared.BodyRef != "":
		return ".body_ref"
	}
	return ""
}

// file is the file of the module, as declared.
func (d *declared) file() string {
	if d.Params.Has("module") {
		return d.Text("module")
	}
	return d.spec.Declared.BodyRef
}

// read reads the params. It returns nil after a problem.
func (d *declared) read() *Body {
	for _, key := range []string{"source", "language", "input_table"} {
		if d.Params.Has(key) {
			d.FailParam(key, notServed[key], "params.%s is not served", key)
			return nil
		}
	}
	d.CheckReferences()
	d.Known("a function from wasm", Params)
	c := d.findSandbox()
	otherwise, size := defaultFuel, d.Size("max_memory_bytes", maxMemory)
	switch {
	case size > 0:
	case c != nil:
		size = c.memory
	default:
		size = defaultMemory
	}
	if c != nil {
		otherwise = commandFuel
	}
	fuel := d.Number("fuel", otherwise, 1, maxFuel)
	elements := d.Number("max_table_elements", defaultElements, 1, maxElements)
	if len(d.spec.Declared.Body) == 0 {
		d.Fail("", "write body_ref: and the path of a .wasm file",
			"WASM function requires one of `params.module` or `body_ref`")
	}
	if len(d.spec.Declared.Signature.Tables) > 1 {
		d.Fail(".signature.tables[1]", "", "WASM functions support at most one declared input table for now")
	}
	if part := arrowipc.Unreadable(d.spec.Returns); part != nil && c == nil {
		d.Fail(".signature.returns", "return utf8", "values of the type %s cannot be returned by a module", part)
	}
	named := d.Text("entrypoint")
	if own := d.spec.Declared.Entrypoint; own != "" && named != "" && own != named {
		d.FailParam("entrypoint", "write one of them", "params.entrypoint is %q, and entrypoint is %q", named, own)
	} else if named == "" {
		named = own
	}
	if d.Fault() != nil {
		return nil
	}
	return &Body{
		spec: d.spec, entrypoint: named, tables: len(d.spec.Declared.Signature.Tables), results: results(d.spec), command: c,
		config: anonymous(), closed: make(chan struct{}),
		limits: limits{int64(fuel), uint64(max(size/pageSize, 1)) * pageSize, uint64(elements)},
	}
}

// results are the columns of a module's output.
func results(spec body.Spec) []arrow.Field {
	if spec.IsTable() {
		if list, ok := spec.Returns.(*arrow.ListType); ok {
			return list.Elem().(*arrow.StructType).Fields()
		}
	}
	return []arrow.Field{{Name: valueColumn, Type: spec.Returns, Nullable: true}}
}

// check checks the module and chooses its form. It returns the module with code that counts
// its fuel.
func (d *declared) check(b *Body) (*module, []byte) {
	m, err := parseModule([]byte(d.spec.Declared.Body))
	if err != nil {
		d.Fail(d.at(), "compile it again for wasm32", "failed to compile WASM module '%s': %s", d.file(), err)
		return nil, nil
	}
	if m.memoryPages*pageSize > b.limits.memory {
		d.Fail(d.at(), fmt.Sprintf("set params.max_memory_bytes: %d or more", m.memoryPages*pageSize),
			"the module starts with a memory of %d bytes; params.max_memory_bytes is %d", m.memoryPages*pageSize,
			b.limits.memory)
	}
	if m.tableElements > b.limits.elements {
		d.Fail(d.at(), fmt.Sprintf("set params.max_table_elements: %d or more", m.tableElements),
			"the module starts with a table of %d elements; params.max_table_elements is %d", m.tableElements, b.limits.elements)
	}
	if b.command != nil {
		d.checkCommand(b, m)
	} else if d.checkImports(m); d.Fault() == nil {
		d.chooseForm(b, m)
	}
	if d.Fault() != nil {
		return nil, nil
	}
	code, err := m.meter(b.limits.memory/pageSize, b.limits.elements)
	if err != nil {
		d.Fail(d.at(), "compile it again for wasm32", "failed to compile WASM module '%s': %s", d.file(), err)
	}
	return m, code
}

// checkImports refuses what a module imports.
func (d *declared) checkImports(m *module) {
	if len(m.imports) == 0 {
		return
	}
	var names []string
	hint := "compile it for wasm32-unknown-unknown, without a JavaScript binding"
	if m.imports[0].module == wasi_snapshot_preview1.ModuleName {
		hint = "compile it for wasm32-unknown-unknown, or name a sandbox with runtime: wasm if it is a command with WASI"
	}
	for i, imp := range m.imports {
		if i == 3 {
			names = append(names, fmt.Sprintf("and %d more", len(m.imports)-i))
			break
		}
		names = append(names, imp.module+"."+imp.name)
	}
	d.Fail(d.at(), hint, "the module imports %s; a module of a function gets no imports", strings.Join(names, ", "))
}

// chooseForm chooses the function of the module that is called, and how.
func (d *declared) chooseForm(b *Body, m *module) {
	numbers, ok := directType(d.spec)
	ok = ok && !d.spec.IsTable() && b.tables == 0
	_, allocates := m.function(exportAlloc)
	takesArrow := func(t funcType) bool { return t.equal(arrowType) && (allocates || !ok || !t.equal(numbers)) }
	takesNumbers := func(t funcType) bool { return ok && t.equal(numbers) && !takesArrow(t) }
	if b.entrypoint == "" {
		own, exported := m.function(d.spec.Declared.Name)
		b.entrypoint = exportEntry
		if exported && (takesArrow(own) || takesNumbers(own)) || !allocates {
			b.entrypoint = d.spec.Declared.Name
		}
	}
	entry, exported := m.function(b.entrypoint)
	switch {
	case !exported:
		d.noExport(m, b.entrypoint)
	case takesNumbers(entry):
		b.form = b.direct
	case takesArrow(entry):
		d.checkArrow(m)
		if b.form = b.scalar; b.tables > 0 || d.spec.IsTable() {
			b.form = b.perRow
		}
	default:
		hint := fmt.Sprintf("a function of Arrow data has the type %s", arrowType)
		if ok {
			hint += fmt.Sprintf("; one of these numbers %s", numbers)
		}
		d.Fail(d.at(), hint, "failed to get WASM export '%s': its type is %s, which does not fit the signature",
			b.entrypoint, entry)
	}
}

// noExport reports a function that is not exported.
func (d *declared) noExport(m *module, name string) {
	at, list := d.at(), m.exportedFunctions()
	switch {
	case d.Params.Has("entrypoint") && name == d.Text("entrypoint"):
		at = spicepod.ParamPath("entrypoint")
	case name == d.spec.Declared.Entrypoint:
		at = ".entrypoint"
	}
	hint := "the module exports no function"
	if len(list) > 0 {
		hint = nearest.Hint(name, list, "the module exports "+shown(list))
	}
	d.Fail(at, hint, "failed to get WASM export '%s': the module exports no function of that name", name)
}

// shown returns the first names of a list.
func shown(list []string) string {
	const most = 8
	if len(list) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
	}
	return strings.Join(list, ", ")
}

// checkArrow checks the exports besides the entry point.
func (d *declared) checkArrow(m *module) {
	if memory, ok := m.exports[exportMemory]; !ok || memory.kind != externMemory {
		d.Fail(d.at(), "", "WASM module is missing exported memory named `%s`", exportMemory)
		return
	}
	for _, needed := range []struct {
		name string
		typ  funcType
	}{{exportAlloc, allocType}, {exportDealloc, deallocType}} {
		got, ok := m.function(needed.name)
		if !ok {
			d.noExport(m, needed.name)
			return
		}
		if !got.equal(needed.typ) {
			d.Fail(d.at(), "", "failed to get WASM export '%s': its type is %s; it must be %s", needed.name, got, needed.typ)
			return
		}
	}
}

// compile compiles a module for calls, with the cache if that can be used.
func (b *Body) compile(ctx context.Context, code []byte, maker Maker) error {
	if maker.Cache == "" {
		return b.prepare(ctx, code)
	}
	damage := b.compileCached(ctx, code, maker.Cache)
	if damage == nil {
		return nil
	}
	b.cache = nil
	err := b.prepare(ctx, code)
	if err == nil && maker.Log != nil {
		maker.Log.Warn("the cache of compiled WebAssembly modules cannot be used", "folder", maker.Cache, "error", damage)
	}
	return err
}

// compiling makes compilations with a cache one after the other: functions of the same
// module have the same entry.
var compiling sync.Mutex

func (b *Body) compileCached(ctx context.Context, code []byte, folder string) (err error) {
	compiling.Lock()
	defer compiling.Unlock()
	if b.cache, err = openCache(folder, code); err != nil {
		return err
	}
	if err = b.prepare(ctx, code); err != nil {
		return errors.Join(err, b.cache.Close(ctx))
	}
	sealCache(folder, code)
	return nil
}

// prepare compiles the module and what it imports.
func (b *Body) prepare(ctx context.Context, code []byte) (err error) {
	config := wazero.NewRuntimeConfig().WithCoreFeatures(api.CoreFeaturesV2).
		WithMemoryLimitPages(uint32(b.limits.memory / pageSize))
	if b.cache != nil {
		config = config.WithCompilationCache(b.cache)
	}
	b.runtime = wazero.NewRuntimeWithConfig(ctx, config)
	defer func() {
		if err != nil {
			_ = b.runtime.Close(ctx)
		}
	}()
	host := b.runtime.NewHostModuleBuilder(meterModule)
	host.NewFunctionBuilder().WithGoFunction(api.GoFunc(b.tick), nil, []api.ValueType{api.ValueTypeI64}).Export(meterName)
	if _, err = host.Instantiate(ctx); err != nil {
		return err
	}
	if b.command != nil {
		if _, err = wasi_snapshot_preview1.Instantiate(ctx, b.runtime); err != nil {
			return err
		}
	}
	b.compiled, err = b.runtime.CompileModule(ctx, code)
	return err
}
