package runtime

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// TestTestsOfServicesRunOverColumns: a service that mixes the rows of a batch passes tests of
// one row each. All code is called alike: exec, wasm and services.
func TestTestsOfServicesRunOverColumns(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Rows []struct{ X int64 } }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		values := make([]int64, len(in.Rows))
		for i := range values {
			values[i] = in.Rows[0].X // of another row
		}
		json.NewEncoder(w).Encode(map[string]any{"values": values})
	}))
	defer service.Close()
	const declared = `functions:
- { name: NAME, from: "URL/v1", MORE params: { allowed_endpoint_ranges: '127.0.0.0/8' }, signature: { args: [{ name: x, type: int64 }], returns: int64 }, tests: [{ args: { x: 1 }, returns: 1 }, { args: { x: 2 }, returns: 2 }, { args: { x: 3 }, returns: 3 }] }
- { name: of, from: sql, volatility: VOLATILITY, signature: { args: [{ name: x, type: int64 }], returns: int64 }, body: NAME(x) + 0, tests: [{ args: { x: 1 }, returns: 1 }, { args: { x: 2 }, returns: 2 }, { args: { x: 3 }, returns: 3 }] }
`
	const fault = "over columns it returns other values than for constants"
	for _, tt := range []struct {
		name, more, volatility string
		want                   []string // with faults
	}{
		{"steady", "volatility: stable,", "stable", []string{"function steady", "function of"}},
		{"cached", "volatility: immutable,", "stable", []string{"function cached"}},
		{"changing", "", "volatile", nil}, // a second call may return something else
		{"writes", "volatility: stable, risk: write,", "stable", nil},
	} {
		r := prepare(t, files{"spicepod.yaml": strings.NewReplacer("NAME", tt.name, "URL", service.URL, "MORE", tt.more, "VOLATILITY",
			tt.volatility).Replace(declared)})
		r.Load(t.Context(), "start")
		var found []string
		for _, p := range r.LastReport().Problems {
			if strings.Contains(p.Message, fault) && !slices.Contains(found, p.Component) {
				found = append(found, p.Component)
			}
		}
		if !slices.Equal(found, tt.want) {
			t.Errorf("%s: %v have faults over columns, want %v; %v", tt.name, found, tt.want, r.LastReport().Problems)
		}
	}
}
