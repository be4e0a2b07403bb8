package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/spiced-sql/spiced/internal/test/exttest"
	"github.com/spiced-sql/spiced/internal/test/laketest"
)

// TestReloadUnderLoad adds and removes datasets of each kind while requests read others of
// the same kinds, by SQL, functions and tools. No request fails.
func TestReloadUnderLoad(t *testing.T) {
	t.Parallel()
	directory := filepath.Dir(exttest.Find(t, "postgres_scanner").Path)
	stands := startStandIns(t)
	kinds := slices.DeleteFunc(slices.Sorted(maps.Keys(stands)), func(name string) bool { return name == "https" || name == "spiceai" })
	dir := folder(t, "a.csv", "id\n1\n2\n", "b.csv", "id\n3\n", "shop.sqlite", read(t, "../../internal/data/datasets/testdata/shop.sqlite"))
	shopDatabase(t, filepath.Join(dir, "shop.db"))
	laketest.Write(t, "delta", filepath.Join(dir, "delta"))
	laketest.Write(t, "iceberg", filepath.Join(dir, "iceberg"), "LAKE_STATE="+t.TempDir())
	laketest.Write(t, "ducklake", "sqlite:"+filepath.Join(dir, "meta.sqlite")+","+dir+"/lake/")
	pod := func(added []string) string {
		text := "version: v1\nkind: Spicepod\nname: busy\nruntime:\n  functions: { enabled: true }\n  extensions: { directory: \"" + directory + "\" }\nfunctions:\n"
		for _, k := range kinds {
			text += fmt.Sprintf("  - { name: rows_of_%s, from: sql, signature: { returns: int64 }, body: (SELECT count(*) FROM %[1]s) }\n", tableOf(k))
		}
		text += "datasets:\n"
		for _, k := range kinds {
			text += stands[k].dataset(tableOf(k), 0)
		}
		for _, k := range added {
			text += stands[k].dataset("more_"+tableOf(k), 1)
		}
		return text
	}
	write(t, filepath.Join(dir, "spicepod.yaml"), pod(nil))
	p := start(t, dir, "--watch=false")
	rows := map[string]string{}
	for _, k := range kinds {
		p.eventually("to serve "+k, func() bool { return p.do("POST", "/v1/sql", "SELECT rows_of_"+tableOf(k)+"() AS n").status == 200 })
		rows[k] = p.sql("SELECT count(*) AS n FROM " + tableOf(k))
		if rows[k] == `[{"n":0}]` {
			t.Fatalf("%s has no rows", k)
		}
	}

	var ended sync.WaitGroup
	var count atomic.Int64
	stop := make(chan struct{})
	end := sync.OnceFunc(func() {
		close(stop)
		ended.Wait()
	})
	defer end()
	for _, k := range kinds {
		number := strings.Trim(rows[k], `[]{}"n:`)
		asks := []func() reply{
			func() reply { return p.do("POST", "/v1/sql", "SELECT count(*) AS n FROM "+tableOf(k)) },
			func() reply { return p.do("POST", "/v1/sql", "SELECT rows_of_"+tableOf(k)+"() AS n") },
			func() reply { return p.do("POST", "/v1/tools/rows_of_"+tableOf(k)+":invoke", `{"args":{}}`) },
		}
		ended.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				answer := asks[i%len(asks)]()
				count.Add(1)
				if answer.status != 200 || !strings.Contains(answer.body, number) || strings.Contains(answer.body, `"ok":false`) {
					t.Errorf("%s: status %d, want the number %s: %s", k, answer.status, number, answer.body)
					return
				}
			}
		})
	}
	for i := range kinds { // half of them, others each time
		added := append(slices.Clone(kinds), kinds...)[i : i+len(kinds)/2]
		write(t, filepath.Join(dir, "spicepod.yaml"), pod(added))
		p.want(p.do("POST", "/v1/reload", ""), 200)
		for _, k := range kinds {
			p.eventually(fmt.Sprintf("to serve more_%s, or not (added: %t)", tableOf(k), slices.Contains(added, k)), func() bool {
				answer := p.do("POST", "/v1/sql", "SELECT count(*) > 0 AS ok FROM more_"+tableOf(k))
				return slices.Contains(added, k) && answer.body == `[{"ok":true}]` || !slices.Contains(added, k) && strings.Contains(answer.body, "is not declared")
			})
		}
	}
	end()
	if n := count.Load(); n < 100 {
		t.Errorf("only %d requests were sent", n)
	}
}

// tableOf is a name of a table for a connector.
func tableOf(connector string) string { return strings.ReplaceAll(connector, ".", "_") + "_rows" }
