package lint_test

import (
	"fmt"
	"testing"

	"github.com/spiced-sql/spiced/internal/find/lint"
	"github.com/spiced-sql/spiced/internal/test/podtest"
)

func TestSpaces(t *testing.T) {
	for filter, want := range map[string]string{
		"space_id = ctx('space_id')":                                                                             lint.NoNullSpace,
		"CTX('space_id') = space_id /* NULL */ AND x = 'null'":                                                   lint.NoNullSpace,
		"ctx('space_id') IS NULL OR space_id = ctx('space_id')":                                                  lint.NoMembership,
		"space_id = coalesce(ctx('space_id'), space_id)":                                                         lint.NoMembership,
		"list_contains(members, ctx('user_id')) AND (ctx('space_id') IS NULL OR space_id = ctx('space_id'))":     "",
		"list_contains(members, ctx('principal')) AND space_id IS NOT DISTINCT FROM ifnull(ctx('space_id'), '')": "",
		"list_contains(members, ctx('user_id'))":                                                                 "",
		"public":                                                                                                 "",
	} {
		pod := podtest.Load(t, fmt.Sprintf("datasets: [{ name: docs, from: 'file:docs.csv', row_filter: %q },"+
			" { name: other, from: 'file:o.csv', row_filter: \"a = ctx('space_id')\" }]\n"+
			"toolsets: [{ name: documents, from: 'builtin:documents', params: { dataset: docs } }]\n", filter))
		found := lint.CheckSpaces(pod)
		got := ""
		if len(found) == 1 {
			got = found[0].Rule
			if found[0].Path != "datasets[0].row_filter" || found[0].Component != "dataset docs" {
				t.Errorf("%+v", found[0])
			}
		}
		if got != want || len(found) > 1 {
			t.Errorf("%s: %+v, want %s", filter, found, want)
		}
	}
}
