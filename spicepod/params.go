package spicepod

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Params is a `params:` map. Strings in it, at any depth, are Text; other
// values are json.Number, bool, nil, []any and map[string]any (.inf and .nan
// are float64). Printing a Params prints references, never secrets.
type Params map[string]any

// Has reports whether the key is written with a value other than null.
func (p Params) Has(key string) bool { return p[key] != nil }

// String returns the revealed text of a scalar, or "" when the key is absent.
// Numbers and booleans come as written.
func (p Params) String(key string) (string, error) {
	switch v := p[key].(type) {
	case nil:
		return "", nil
	case Text:
		return v.Reveal(), nil
	case json.Number:
		return v.String(), nil
	case bool, float64:
		return fmt.Sprint(v), nil
	default:
		return "", p.wrong(key, "text")
	}
}

// Bool returns a boolean, written as such or as text, or fallback when the key
// is absent.
func (p Params) Bool(key string, fallback bool) (bool, error) {
	if !p.Has(key) {
		return fallback, nil
	}
	text, err := p.String(key)
	if err == nil {
		switch strings.ToLower(text) {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
	}
	return fallback, p.wrong(key, "true or false")
}

// Int returns a whole number, or fallback when the key is absent.
func (p Params) Int(key string, fallback int) (int, error) {
	if !p.Has(key) {
		return fallback, nil
	}
	if text, err := p.String(key); err == nil {
		if n, err := strconv.Atoi(text); err == nil {
			return n, nil
		}
	}
	return fallback, p.wrong(key, "a whole number")
}

// Duration returns a length of time as ParseDuration reads it, or fallback
// when the key is absent.
func (p Params) Duration(key string, fallback time.Duration) (time.Duration, error) {
	if !p.Has(key) {
		return fallback, nil
	}
	if text, err := p.String(key); err == nil {
		if d, err := ParseDuration(text); err == nil {
			return d, nil
		}
	}
	return fallback, p.wrong(key, "a duration such as 30s")
}

// Size returns a number of bytes as ParseSize reads it, or fallback when the
// key is absent.
func (p Params) Size(key string, fallback Size) (Size, error) {
	if !p.Has(key) {
		return fallback, nil
	}
	if text, err := p.String(key); err == nil {
		if s, err := ParseSize(text); err == nil {
			return s, nil
		}
	}
	return fallback, p.wrong(key, "a size such as 128MiB")
}

// Reveal returns a copy with every Text replaced by its value, for whoever
// connects with it. Never print or log it.
func (p Params) Reveal() map[string]any {
	if p == nil {
		return nil
	}
	revealed, _ := reveal(map[string]any(p)).(map[string]any)
	return revealed
}

func reveal(v any) any {
	switch v := v.(type) {
	case Text:
		return v.Reveal()
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = reveal(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = reveal(value)
		}
		return out
	default:
		return v
	}
}

// wrong names the value as it is written, so it cannot hold a secret.
func (p Params) wrong(key, want string) error {
	switch v := p[key].(type) {
	case map[string]any:
		return fmt.Errorf("params.%s takes %s, not a mapping", key, want)
	case []any:
		return fmt.Errorf("params.%s takes %s, not a list", key, want)
	case Text:
		return fmt.Errorf("params.%s takes %s, not %q", key, want, v.Raw)
	default:
		return fmt.Errorf("params.%s takes %s, not %v", key, want, v)
	}
}
