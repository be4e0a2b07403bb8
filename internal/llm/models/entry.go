package models

import (
	"net/http"

	"github.com/spiced-sql/spiced/spicepod"
)

// entry is one entry of `models:` while it is opened.
type entry struct {
	spicepod.Entry
	declared spicepod.Model
	kind     provider
	id       string // of `from:`, after the colon
	http     *http.Client
}
