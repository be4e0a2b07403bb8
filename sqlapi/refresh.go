package sqlapi

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/spiced-sql/spiced/spicepod"
)

type message struct {
	Message string `json:"message"`
}

// refresh begins to refresh a dataset.
func (h *runtimeHandler) refresh(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	if h.Refresher == nil {
		return newError(codeNotServed, "", "datasets are not refreshed here")
	}
	o, err := h.readRefresh(w, r)
	if err != nil {
		return err
	}
	switch err := h.Refresher.Refresh(r.Context(), name, o); {
	case errors.Is(err, ErrUnknownDataset):
		return newError(codeUnknownDataset, "", "Dataset %s not found", name)
	case errors.Is(err, ErrNotAccelerated):
		return newError(codeNotAccelerated, "", "Dataset %s does not have acceleration enabled", name)
	case errors.Is(err, ErrInvalidRefresh):
		return newError(codeInvalidRequest, "", "%s", err)
	case err != nil:
		return err
	}
	return writeJSON(w, http.StatusCreated, message{"Dataset refresh triggered for " + name + "."})
}

func (h *runtimeHandler) readRefresh(w http.ResponseWriter, r *http.Request) (o RefreshOptions, err error) {
	body, err := h.bodies.read(w, r, maxSmallBody)
	if err != nil || len(body) == 0 {
		return o, err
	}
	fields := map[string]*string{"refresh_sql": &o.SQL, "refresh_mode": &o.Mode, "refresh_jitter_max": &o.JitterMax}
	err = decodeObject(body, []string{"refresh_sql", "refresh_mode", "refresh_jitter_max"}, func(key string, d *json.Decoder) error {
		return d.Decode(fields[key])
	})
	return o, err
}

// reload reads the Spicepod again and waits for the outcome.
func (h *runtimeHandler) reload(w http.ResponseWriter, r *http.Request) error {
	if h.Reloader == nil {
		return newError(codeNotServed, "", "the Spicepod is not reloaded here")
	}
	outcome, err := h.Reloader.Reload(r.Context())
	if err != nil {
		return err
	}
	if !outcome.Accepted {
		e := newError(codeReloadRefused, "the generation before goes on serving", "the Spicepod was not taken over")
		e.Problems = outcome.Problems
		return e
	}
	if outcome.Changed == nil {
		outcome.Changed = []string{}
	}
	if outcome.Problems == nil {
		outcome.Problems = spicepod.Problems{}
	}
	return writeJSON(w, http.StatusOK, outcome)
}
