package registry_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spiced-sql/spiced/registry"
)

// searching publishes the catalogue with a model, and returns a search and how long it
// took.
func searching(t *testing.T, model *fakeModel) (*registry.Registry, func() (*registry.Found, time.Duration)) {
	r := registry.New(registry.Options{})
	publish(t, r, registry.Contents{Tools: catalogue(t), Embeddings: models{model}})
	return r, func() (*registry.Found, time.Duration) {
		began := time.Now()
		return find(t, r, registry.SearchRequest{Query: "forecast rain"}), time.Since(began)
	}
}

// A model that fails, at once or by silence, costs a search at most the embedding
// timeout, once; later searches use keywords at once, until a probe succeeds.
func TestAModelThatFailsLeavesTheWords(t *testing.T) {
	for name, c := range map[string]struct {
		worksFirst bool
		fails      bool
		takes      time.Duration
		first      time.Duration // at most
	}{
		"at once":                {false, true, 0, 0},
		"silent":                 {false, false, time.Hour, time.Second},
		"at once, after success": {true, true, 0, 0},
		"silent, after success":  {true, false, time.Hour, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				model := &fakeModel{name: "m", words: []string{"rain"}}
				r, search := searching(t, model)
				defer r.Close()
				if c.worksFirst {
					if f, _ := search(); f.SearchMode != registry.ModeHybrid {
						t.Fatalf("%s %v", f.SearchMode, f.Notices)
					}
				}
				model.fail.Store(c.fails)
				model.takes.Store(int64(c.takes))
				for i := range 20 {
					f, took := search()
					if f.SearchMode != registry.ModeLexical || ids(f)[0] != "weather" || len(f.Notices) == 0 || !f.Degraded {
						t.Errorf("%s %v %v", f.SearchMode, ids(f), f.Notices)
					}
					if most := c.first; i > 0 && took > 0 || took > most {
						t.Errorf("search %d took %s", i, took)
					}
				}
				if r.EmbeddingFaults()["m"] == nil {
					t.Error("no fault is reported")
				}
				asked := model.calls.Load()
				time.Sleep(10 * time.Minute) // of the bubble
				if probes := model.calls.Load() - asked; probes > 17 {
					t.Errorf("%d probes in ten minutes", probes)
				}
				model.fail.Store(false)
				model.takes.Store(0)
				time.Sleep(time.Hour)
				search() // begins to compute missing vectors
				synctest.Wait()
				if f, took := search(); f.SearchMode != registry.ModeHybrid || took > 0 || len(r.EmbeddingFaults()) > 0 {
					t.Errorf("%s after %s once the model is back; faults %v", f.SearchMode, took, r.EmbeddingFaults())
				}
			})
		})
	}
}

// Vectors that take long to compute do not hold up searches.
func TestSlowVectorsDoNotHoldUpSearches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := &fakeModel{name: "m", words: []string{"rain"}}
		r, search := searching(t, model)
		defer r.Close()
		model.takes.Store(int64(time.Minute))
		for i := range 3 {
			if f, took := search(); f.SearchMode != registry.ModeLexical || i == 0 && took != time.Second || i > 0 && took > 0 {
				t.Errorf("search %d: %s after %s", i, f.SearchMode, took)
			}
		}
		model.takes.Store(0)
		time.Sleep(time.Minute)
		if f, _ := search(); f.SearchMode != registry.ModeHybrid {
			t.Errorf("%s %v", f.SearchMode, f.Notices)
		}
	})
}

// With a model that fails, a search takes about as long as without a model.
func TestAFailedModelCostsNothing(t *testing.T) {
	model := &fakeModel{name: "m", words: []string{"rain"}}
	model.fail.Store(true)
	r, search := searching(t, model)
	defer r.Close()
	without := registry.New(registry.Options{})
	publish(t, without, registry.Contents{Tools: catalogue(t)})
	var failed, lexical []time.Duration
	for range 501 {
		_, took := search()
		failed = append(failed, took)
		began := time.Now()
		find(t, without, registry.SearchRequest{Query: "forecast rain"})
		lexical = append(lexical, time.Since(began))
	}
	slices.Sort(failed)
	slices.Sort(lexical)
	if a, b := failed[250], lexical[250]; a > 2*b {
		t.Errorf("p50 is %s, without a model %s", a, b)
	}
}
