package engine

import (
	"strings"
	"testing"
)

func TestMessagesAreBounded(t *testing.T) {
	db := fixture(t, Options{})
	long := strings.Repeat("ö", 10_000)
	for _, sql := range []string{
		"SELECT error(repeat('ö', 1000000) || '1')", "SELECT error(repeat('ö', 1000000) || i) FROM range(3) t(i)",
		`SELECT "` + long + `"`, `SELECT * FROM "` + long + `"`, `SELECT "` + long + `"()`, "SELECT '" + long + "'::INTEGER",
		`SELECT 1::VARIANT AS "` + long + `"`, "SELECT ctx('" + long + "')",
	} {
		_, err := texts(t.Context(), db, sql)
		if e := asError(t, err); len(e.Message) > MaxMessage || len(e.Hint) > MaxMessage || !strings.Contains(e.Message, "…") {
			t.Errorf("%.30s: a message of %d bytes, a hint of %d: %.100s", sql, len(e.Message), len(e.Hint), e.Message)
		}
	}
}
