package isolate

import (
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// TestLimitsComeWithTheStatement: a worker's database lowers no time limit of a statement.
func TestLimitsComeWithTheStatement(t *testing.T) {
	db, err := engine.Open(t.Context(), (&server{}).options(setup{}))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if got := db.Timeout(); got < 1000*time.Hour {
		t.Errorf("statements may take %s", got)
	}
}
