package spicepod_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/spicepod"
)

// TestKeysOfProviders: a key of the environment is used only where the Spicepod names neither a key
// nor an endpoint, and a warning names the variable.
func TestKeysOfProviders(t *testing.T) {
	for _, name := range []string{"OPENAI_API_KEY", "SPICE_OPENAI_API_KEY", "SPICE_ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY"} {
		t.Setenv(name, "") // restored after the test
		os.Unsetenv(name)
	}
	t.Setenv("OPENAI_API_KEY", "sk-of-the-environment")
	dir := t.TempDir()
	for name, text := range map[string]string{
		".env": "ANTHROPIC_API_KEY=sk-of-the-file\n",
		"spicepod.yaml": `version: v1
kind: Spicepod
name: keys
models:
  - { name: plain, from: "openai:gpt-4o" }
  - { name: own, from: "OpenAI:gpt-4o", params: { openai_api_key: "sk-own" } }
  - { name: elsewhere, from: "openai:gpt-4o", params: { endpoint: "http://127.0.0.1:1/v1" } }
  - { name: claude, from: "anthropic:claude", params: { timeout: 1m } }
embeddings:
  - { name: e, from: "openai:text-embedding-3-small" }
  - { name: hash, from: "builtin:hash" }
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pod, err := spicepod.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	models, vectors := pod.Models, pod.Embeddings
	var warnings spicepod.Problems
	for _, c := range []struct {
		name, key string
		params    spicepod.Params
		found     spicepod.Text
		want      string
	}{
		{"plain", "openai_api_key", models[0].Params, models[0].Key, "sk-of-the-environment"},
		{"own", "openai_api_key", models[1].Params, models[1].Key, "sk-own"},
		{"elsewhere", "openai_api_key", models[2].Params, models[2].Key, ""},
		{"claude", "anthropic_api_key", models[3].Params, models[3].Key, "sk-of-the-file"},
		{"e", "openai_api_key", vectors[0].Params, vectors[0].Key, "sk-of-the-environment"},
		{"hash", "builtin_api_key", vectors[1].Params, vectors[1].Key, ""},
	} {
		e := &spicepod.Entry{Pod: pod, Path: "models[0]", Component: c.name, Params: c.params}
		e.UseKey(c.key, c.found)
		if got := e.Text(c.key); got != c.want {
			t.Errorf("%s has the key %q; want %q", c.name, got, c.want)
		}
		if e.Params.Has("timeout") != c.params.Has("timeout") {
			t.Errorf("%s lost a param", c.name)
		}
		warnings = append(warnings, e.Problems...)
	}
	var of []string
	for _, p := range warnings {
		if strings.Contains(p.Error(), "sk-") {
			t.Errorf("a warning shows a key: %s", p.Error())
		}
		if p.Severity != spicepod.Warning || !strings.Contains(p.Error(), "so the key is that of the environment: SPICE_") {
			t.Error(p)
		}
		of = append(of, p.Component)
	}
	if got := strings.Join(of, ", "); got != "plain, claude, e" {
		t.Errorf("warnings of %s", got)
	}
	before := spicepod.Fingerprint(pod.Models)
	t.Setenv("OPENAI_API_KEY", "sk-another")
	again, err := spicepod.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if spicepod.Fingerprint(again.Models) == before {
		t.Error("a reload with another key keeps the model of the old one")
	}
}
