package spicepod

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

const hidden = "s3cr3t-value"

func TestSecretsAreFoundInOrder(t *testing.T) {
	t.Setenv("SPICED_T_PROCESS", "process")
	t.Setenv("SPICED_T_EMPTY", "")
	dir := write(t, map[string]string{
		".env":       "SPICED_T_PROCESS=env\nSPICED_T_BOTH=env\nSPICED_T_ENV='a b'\nSPICED_T_EMPTY=x\nspiced_t_lower=low\n",
		".env.local": "SPICED_T_PROCESS=local\nSPICED_T_BOTH=local\n",
		"spicepod.yaml": head + `datasets:
  - name: d
    from: https://x/${env:SPICED_T_BOTH}/${ secrets:spiced_t_env }.csv
    params:
      a: ${env:SPICED_T_PROCESS}
      b: "<${env:SPICED_T_BOTH}|${mine:spiced_t_both}>"
      c: "${env:SPICED_T_EMPTY}"
      d: ${secrets:spiced_t_lower}
      plain: ${HOME} $x {env:y}
      number: 12
      object: {deep: ["${env:SPICED_T_BOTH}"]}
secrets:
  - {from: env, name: mine}
`,
	})
	pod, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	d := pod.Datasets[0]
	if got := d.From.Reveal(); got != "https://x/local/a b.csv" {
		t.Errorf("from is %q", got)
	}
	want := map[string]string{"a": "process", "b": "<local|local>", "c": "", "d": "low", "plain": "${HOME} $x {env:y}", "number": "12", "absent": ""}
	for key, value := range want {
		if got, err := d.Params.String(key); got != value || err != nil {
			t.Errorf("%s is %q, %v, want %q", key, got, err, value)
		}
	}
	if got, err := d.Params.Value("object", ParamObject); fmt.Sprint(got) != "map[deep:[local]]" || err != nil {
		t.Errorf("object is %s, %v", got, err)
	}
	if d.Params["plain"].(Text).Secret() || !d.Params["a"].(Text).Secret() {
		t.Error("Secret tells which texts hold references")
	}
}

// TestSecretsWithSpicesPrefix: a key is looked up as Spice does, whose CLI writes variables that
// begin with SPICE_.
func TestSecretsWithSpicesPrefix(t *testing.T) {
	t.Setenv("SPICED_T_BOTH", "plain")
	t.Setenv("SPICE_SPICED_T_BOTH", "prefixed")
	t.Setenv("SPICE_SPICED_T_ONLY", "only")
	pod := mustLoad(t, head+`datasets:
  - name: d
    from: file:x.csv
    params:
      a: ${secrets:spiced_t_only}
      b: ${env:SPICED_T_ONLY}
      c: ${secrets:spiced_t_both}
      d: ${mine:spiced_t_both}
      e: ${env:SPICED_T_BOTH}
secrets:
  - {from: env, name: mine}
`)
	want := map[string]string{"a": "only", "b": "only", "c": "prefixed", "d": "prefixed", "e": "plain"}
	for key, value := range want {
		if got, err := pod.Datasets[0].Params.String(key); got != value || err != nil {
			t.Errorf("%s is %q, %v, want %q", key, got, err, value)
		}
	}
}

func TestSecretsAreNeverPrinted(t *testing.T) {
	t.Setenv("SPICED_T_SECRET", hidden)
	pod := mustLoad(t, head+`datasets:
  - name: d
    from: postgres://u:${env:SPICED_T_SECRET}@h/db
    params: {password: "${env:SPICED_T_SECRET}", deep: [{x: "${env:SPICED_T_SECRET}"}]}
`)
	d := pod.Datasets[0]
	if d.From.Reveal() != "postgres://u:"+hidden+"@h/db" {
		t.Fatalf("from is %q", d.From.Reveal())
	}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x", "%T", "%p", "%10.3s"} {
		for _, value := range []any{d, &d, d.From, &d.From, d.Params, d.Params["password"], pod, *pod} {
			fmt.Fprintf(&out, verb, value)
		}
	}
	for _, value := range []any{d, d.From, d.Params, pod, map[Text]int{d.From: 1}} {
		encoded, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(encoded)
	}
	for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(handler).Info("load", "dataset", d, "from", d.From, "params", d.Params)
	}
	_, err := d.Params.Int("password", 0)
	fmt.Fprint(&out, err, pod.Problem("datasets[0].params.password", "wrong", "").Error(), Fingerprint(d))
	for _, form := range []string{hidden, fmt.Sprintf("%x", hidden), fmt.Sprintf("%X", hidden)} {
		if strings.Contains(out.String(), form) {
			t.Errorf("the secret is printed as %q", form)
		}
	}
	if !strings.Contains(out.String(), "${env:SPICED_T_SECRET}") {
		t.Error("the reference is not printed")
	}
}

func TestBrokenEnvFileNamesTheLineOnly(t *testing.T) {
	dir := write(t, map[string]string{
		".env":          "A=1\nB=\"two\nlines\"\n# note\nC+D=" + hidden + "\nE=5\n",
		"spicepod.yaml": head,
	})
	_, err := Load(dir)
	if err == nil {
		t.Fatal("no error")
	}
	if text := err.Error(); !strings.HasPrefix(text, ".env:5: this line is not KEY=value") || strings.Contains(text, hidden) {
		t.Errorf("got %s", text)
	}
}

func TestDisabledFunctionsNeedNoSecrets(t *testing.T) {
	mustLoad(t, head+"functions:\n  - {name: f, from: 'http://x', enabled: false, signature: {}, params: {a: '${env:SPICED_T_NONE}'}}\n")
}

func TestMissingSecretSuggestsANearName(t *testing.T) {
	t.Setenv("SPICED_T_PASSWORD", hidden)
	dir := write(t, map[string]string{"spicepod.yaml": head +
		"datasets:\n  - {name: d, from: 'x:y', params: {a: '${env:SPICED_T_PASWORD}'}}\n"})
	pod, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if text := unsetProblems(pod).Error(); !strings.Contains(text, "there is a variable SPICED_T_PASSWORD") || strings.Contains(text, hidden) {
		t.Errorf("got %s", text)
	}
}
