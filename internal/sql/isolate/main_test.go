package isolate_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/isolate"
)

// workerVariable makes this binary a worker of the kind that it names.
const workerVariable = "SPICED_TEST_WORKER"

func TestMain(m *testing.M) {
	if kind := os.Getenv(workerVariable); kind != "" {
		os.Exit(asWorker(kind))
	}
	goleak.VerifyTestMain(m)
}

// asWorker is the body of the workers of these tests.
func asWorker(kind string) int {
	if fake, ok := fakes[kind]; ok {
		return fake()
	}
	if err := isolate.Main(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// noMemoryLimit: under the race detector a process maps terabytes when it starts,
// which no memory limit allows.
const noMemoryLimit = -1

// world is a database whose isolated statements run in workers.
type world struct {
	*engine.DB
	pool   *isolate.Pool
	log    *buffer
	serial uint64
}

func options(change ...func(*isolate.Options)) isolate.Options {
	o := isolate.Options{Command: []string{os.Args[0]}, Env: []string{workerVariable + "=real"}, Workers: 1}
	if raceDetector {
		o.Memory = noMemoryLimit
	}
	for _, c := range change {
		c(&o)
	}
	return o
}

func newWorld(t testing.TB, change ...func(*isolate.Options)) *world {
	t.Helper()
	w := &world{log: &buffer{}}
	o := options(change...)
	o.Log = slog.New(slog.NewTextHandler(w.log, nil))
	var err error
	if w.pool, err = isolate.New(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.pool.Close)
	if w.DB, err = engine.Open(context.Background(), engine.Options{Connections: 8, Isolator: w.pool}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.DB.Close)
	return w
}

// always are dependencies that each run one of the statements, whatever a
// statement names.
func always(statements ...string) func([]engine.Relation, []string) ([]*engine.Dependency, error) {
	return func([]engine.Relation, []string) (list []*engine.Dependency, err error) {
		for i, sql := range statements {
			list = append(list, engine.NewDependency(fmt.Sprintf("statement %d", i+1), []string{sql}, nil))
		}
		return list, nil
	}
}

// publish publishes a catalog, for which the statements run here.
func (w *world) publish(t testing.TB, contents engine.Contents, here ...string) *engine.Catalog {
	t.Helper()
	w.serial++
	contents.Generation = w.serial
	cat := engine.NewCatalog(contents)
	err := w.Publish(context.Background(), cat, func(tx *engine.Tx) error {
		for _, sql := range here {
			if err := tx.Exec(sql); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

// buffer is a log that can be read while it is written.
type buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

var _ io.Writer = (*buffer)(nil)
