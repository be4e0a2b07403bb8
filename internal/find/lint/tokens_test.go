package lint_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/spiced-sql/spiced/internal/find/lint"
	"github.com/spiced-sql/spiced/tools"
)

// Whole catalogs, as a model gets them, are within 3 %.
func TestTokensOfCatalogs(t *testing.T) {
	for set, want := range map[string]int{
		"apibank": 11224, "bfcl": 98471, "bfcl_live": 115289, "bfcl_multiturn": 13085,
		"livemcp": 86985, "metatool": 7311, "sealtools": 394616,
	} {
		got := lint.Cost(catalog(t, set), lint.OpenAI)
		if off := float64(got)/float64(want) - 1; math.Abs(off) > .03 {
			t.Errorf("%s: %d tokens, truly %d: off by %.1f %%", set, got, want, 100*off)
		}
	}
}

// catalog reads the tools of a retrieval set outside of the repository.
func catalog(t *testing.T, set string) []*tools.Definition {
	t.Helper()
	f, err := os.Open(filepath.Join("../../../../shared/retrieval/dev", set, "tools.jsonl"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("the retrieval sets are not next to the repository: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []*tools.Definition
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		d := tools.Definition{Source: "mcp:" + set}
		if err := json.Unmarshal(lines.Bytes(), &d); err != nil {
			t.Fatal(err)
		}
		list = append(list, &d)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// Real catalogs have no attacks, and few names that look alike.
func TestRealCatalogs(t *testing.T) {
	for _, set := range []string{"bfcl_live", "livemcp"} {
		list := catalog(t, set)
		rules := map[string]int{}
		for _, f := range lint.Check(list) {
			rules[f.Rule]++
		}
		if rules[lint.Instructions]+rules[lint.HiddenText] > 0 || 20*rules[lint.SimilarName] > len(list) || 20*rules[lint.SimilarDescription] > len(list) {
			t.Errorf("%s, %d tools: %v", set, len(list), rules)
		}
	}
}
