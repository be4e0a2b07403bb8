package isolate

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// leaving is a context that is found to have ended after some looks at it.
type leaving struct {
	context.Context
	looks int
}

func (l *leaving) Err() error {
	if l.looks--; l.looks < 0 {
		return context.Canceled
	}
	return nil
}

func TestACallerThatLeavesLeavesNothingAttached(t *testing.T) {
	db, err := engine.Open(t.Context(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	path := filepath.Join(t.TempDir(), "r.db")
	for _, sql := range []string{"ATTACH " + engine.Literal(path) + " AS r", "DETACH r"} {
		if err := db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	s := &server{db: db}
	for looks := 0; err != nil || looks == 0; looks++ {
		var detach func()
		detach, err = s.attach(&leaving{t.Context(), looks}, []engine.Table{{Database: "r", Path: path}})
		detach()
		if db.Exec(t.Context(), "DETACH r") == nil {
			t.Errorf("after %d looks, %v: it is still attached", looks, err)
		}
	}
}
