package wasm

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// fuelSlice is after how much fuel a module comes back into Go, which takes about a
// millisecond: there a call ends that is cancelled, and Go's garbage collector and
// scheduler can stop it.
const fuelSlice = 1_000_000

var (
	errFuel    = errors.New("out of fuel")
	errCPU     = errors.New("out of processor time")
	errStopped = errors.New("stopped")
	errClosed  = errors.New("the function has been removed")
)

// fuel is what is left of the fuel of a call.
type fuel struct {
	left    int64
	cpu     time.Duration // processor time of the thread at which the call ends; 0: no limit
	stopped atomic.Bool
	ended   error // why the module got no more
}

type fuelKey struct{}

// tick gives the running call its next fuel. The module traps if it gets none.
func (b *Body) tick(ctx context.Context, stack []uint64) {
	stack[0] = 0
	f, ok := ctx.Value(fuelKey{}).(*fuel)
	switch {
	case !ok:
	case f.stopped.Load() || b.isClosed():
		f.ended = errStopped
	case f.left <= 0:
		f.ended = errFuel
	case f.cpu > 0 && threadTime() > f.cpu:
		f.ended = errCPU
	default:
		slice := min(f.left, fuelSlice)
		f.left -= slice
		stack[0] = uint64(slice)
	}
}

// anonymous is the configuration of instances without a name; several may exist.
// wazero makes a source of random numbers for each instance that has none, though nothing
// can read it without an import.
func anonymous() wazero.ModuleConfig {
	return wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize").WithRandSource(strings.NewReader(""))
}

// instance is an instance of the module for one call.
type instance struct {
	module api.Module
	memory api.Memory // nil if there is none
	most   uint64     // bytes of it
}

// with calls f with a new instance, which ends with ctx, and with the context of calls into
// it.
func (b *Body) with(ctx context.Context, config wazero.ModuleConfig, f func(context.Context, *instance) error) error {
	select {
	case b.slots <- struct{}{}:
		defer func() { <-b.slots }()
	case <-b.closed:
		return errClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if b.isClosed() {
		return errClosed
	}
	tank := &fuel{left: b.limits.fuel}
	if b.command != nil && b.command.cpu > 0 {
		runtime.LockOSThread() // whose time is measured
		defer runtime.UnlockOSThread()
		tank.cpu = threadTime() + b.command.cpu
	}
	defer context.AfterFunc(ctx, func() { tank.stopped.Store(true) })()
	// The values of ctx are left out: wazero looks for its own in each call of a function.
	inner := context.WithValue(context.Background(), fuelKey{}, tank)
	err := b.run(inner, config, f)
	switch {
	case err == nil || tank.ended == nil:
		return err
	case tank.ended == errFuel:
		return fmt.Errorf("the call used up its fuel of %d instructions; raise params.fuel, or let the function do less",
			b.limits.fuel)
	case tank.ended == errCPU:
		return fmt.Errorf("the command took more than %s of processor time, the limit of sandbox %s (limits.cpu)",
			b.command.cpu, b.command.name)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return errClosed
}

func (b *Body) run(ctx context.Context, config wazero.ModuleConfig, f func(context.Context, *instance) error) error {
	start := ctx
	if b.memories != nil {
		start = experimental.WithMemoryAllocator(ctx, b.memories)
	}
	m, err := b.instantiate(start, config)
	if err != nil {
		return fmt.Errorf("failed to instantiate WASM module: %w", cause(err))
	}
	defer m.Close(context.Background())
	return f(ctx, &instance{m, m.ExportedMemory(exportMemory), b.limits.memory})
}

// instantiate makes an instance. wazero panics where the system has no memory for it.
func (b *Body) instantiate(ctx context.Context, config wazero.ModuleConfig) (m api.Module, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("no memory for its linear memory")
		}
	}()
	return b.runtime.InstantiateModule(ctx, b.compiled, config)
}

// call calls an exported function.
func (i *instance) call(ctx context.Context, name string, args ...uint64) ([]uint64, error) {
	results, err := i.module.ExportedFunction(name).Call(ctx, args...)
	if err != nil {
		return nil, i.failed(name, err)
	}
	return results, nil
}

// failed is the error of a call that ended in one.
func (i *instance) failed(name string, err error) error {
	hint := ""
	if i.memory != nil && uint64(i.memory.Size())*2 > i.most {
		hint = fmt.Sprintf("; it had %d bytes of the %d that params.max_memory_bytes allows", i.memory.Size(), i.most)
	}
	return fmt.Errorf("WASM function call '%s' failed: %w%s", name, cause(err), hint)
}

// trap is the first line of an error of wazero, which continues with its stack.
type trap struct{ err error }

func cause(err error) error { return &trap{err} }

// Error returns the message.
func (t *trap) Error() string {
	line, _, _ := strings.Cut(t.err.Error(), "\n")
	return strings.TrimPrefix(line, "wasm error: ")
}

// Unwrap returns the error of wazero.
func (t *trap) Unwrap() error { return t.err }

// write puts bytes into the memory that the module allocates for them.
func (i *instance) write(ctx context.Context, data []byte) (pointer uint64, err error) {
	if uint64(len(data)) > i.most {
		return 0, fmt.Errorf("the input of %d bytes is larger than params.max_memory_bytes, which is %d", len(data), i.most)
	}
	results, err := i.call(ctx, exportAlloc, uint64(len(data)))
	if err != nil {
		return 0, err
	}
	pointer = uint64(uint32(results[0]))
	if !i.memory.Write(uint32(pointer), data) {
		return 0, fmt.Errorf("%s returned an invalid memory range ptr=%d len=%d: the memory has %d bytes", exportAlloc,
			pointer, len(data), i.memory.Size())
	}
	return pointer, nil
}

// read returns the bytes that a module returns as (pointer << 32) | length. They are valid
// until the module is called again.
func (i *instance) read(packed uint64) ([]byte, error) {
	pointer, length := uint32(packed>>32), uint32(packed)
	if length == 0 {
		return nil, nil
	}
	view, ok := i.memory.Read(pointer, length)
	if !ok {
		return nil, fmt.Errorf("WASM module returned an invalid memory range ptr=%d len=%d: the memory has %d bytes", pointer,
			length, i.memory.Size())
	}
	return view, nil
}
