package runtime

import "testing"

func TestViewLineage(t *testing.T) {
	r := start(t, files{"t.csv": "x\n1\n2\n", "spicepod.yaml": `datasets: [{ name: t, from: "file:t.csv" }]
views:
  - { name: doubled, sql: "SELECT open(x) AS y, secret(x) AS z FROM t" }
  - { name: again, sql: "SELECT y FROM doubled" }
functions:
` + fn("open", "x", "x * 2") + `  - name: secret
    from: sql
    signature: { args: [{ name: x, type: int64 }], returns: int64 }
    available: ctx.user_id == "owner"
    body: x * 3
`})
	all := "SELECT * FROM spiced.view_lineage ORDER BY ALL"
	r.wantAs("reader", all, `3: "again" "dataset" "doubled"; "doubled" "dataset" "t"; "doubled" "function" "open"`)
	r.wantAs("owner", all, `"open"; "doubled" "function" "secret"`)
	r.write(files{"spicepod.yaml": `datasets: [{ name: t, from: "file:t.csv" }]
views: [{ name: again, sql: "SELECT x FROM t" }]
`})
	r.Load(t.Context(), "test")
	r.want(all, "again,dataset,t")
}
