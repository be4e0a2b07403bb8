package mysql

import (
	"errors"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/sql/dml"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// TestWhatMySQLHasNot has what is refused for MySQL; tests have no server of it.
func TestWhatMySQLHasNot(t *testing.T) {
	w := &writer{server: &server{config: &config{host: "db", port: 3306}}, target: target{OutsideTable: engine.OutsideTable{Primary: []string{"id"}}}}
	for _, c := range []struct {
		change        engine.RowChange
		message, hint string
	}{
		{engine.RowChange{Verb: dml.VerbInsert}, "", ""},
		{engine.RowChange{Verb: dml.VerbInsert, Conflict: dml.ConflictNothing}, "", ""},
		{engine.RowChange{Verb: dml.VerbUpdate, Returning: true}, "", ""},
		{engine.RowChange{Verb: dml.VerbDelete, Returning: true}, "", ""},
		{engine.RowChange{Verb: dml.VerbInsert, Returning: true}, "INSERT … RETURNING is refused: the MySQL server db:3306 does not have it", "leave RETURNING out"},
		{
			engine.RowChange{Verb: dml.VerbInsert, Conflict: dml.ConflictUpdate},
			"ON CONFLICT DO UPDATE is refused: ON DUPLICATE KEY UPDATE of the MySQL server db:3306", "UPDATE the rows that are there",
		},
	} {
		err := w.Check(&c.change)
		var e *engine.Error
		switch {
		case c.message == "" && err != nil, c.message != "" && !errors.As(err, &e):
			t.Errorf("%+v: got %v", c.change, err)
		case c.message != "" && (!strings.Contains(e.Message, c.message) || !strings.Contains(e.Hint, c.hint)):
			t.Errorf("got %v; %s; want %s; %s", e.Message, e.Hint, c.message, c.hint)
		}
	}
}

func TestVersionsThatReturnRows(t *testing.T) {
	for version, want := range map[string]bool{
		"8.0.36": false, "9.1.0-commercial": false, "5.5.5-10.4.34-MariaDB": false, "10.5.29-MariaDB-log": true, "5.5.5-10.11.19-MariaDB-0+deb12u1": true,
		"11.4.2-MariaDB": true, "": false,
	} {
		if got := returnsRows(version); got != want {
			t.Errorf("%q: got %v", version, got)
		}
	}
}

func TestDuplicatesOfKeys(t *testing.T) {
	for _, c := range []struct {
		message, key string
		want         bool
	}{
		{"Duplicate entry 'A' for key 'code'", "code", true},
		{"Duplicate entry 'A' for key 'shop.code'", "code", true},
		{"Duplicate entry 'A' for key 'PRIMARY'", "code", false},
		{"Duplicate entry 'code' for key 'shop.PRIMARY'", "code", false},
		{"Duplicate entry 'A' for key 'other.barcode'", "code", false},
	} {
		if got := (&serverError{Message: c.message}).isAbout(c.key, "shop"); got != c.want {
			t.Errorf("%s: %s: got %v", c.message, c.key, got)
		}
	}
}
