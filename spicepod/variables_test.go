package spicepod

import (
	"fmt"
	"strings"
	"testing"
)

func TestVariablesOfSandboxesAreFoundInOrder(t *testing.T) {
	t.Setenv("SPICED_T_PROCESS", "process")
	pod, err := Load(write(t, map[string]string{
		".env":       "SPICED_T_PROCESS=env\nSPICED_T_FILE=" + hidden + "\n",
		".env.local": "SPICED_T_LOCAL=local\n",
		"spicepod.yaml": head + `sandboxes:
  - {name: s, secrets: [SPICED_T_PROCESS, SPICED_T_FILES]}
functions:
  - {name: f, from: exec, secrets: [SPICED_T_FILE, SPICED_T_LOCAL], signature: {returns: utf8}, body: 'pass'}
  - {name: off, from: exec, enabled: false, secrets: [SPICED_T_OFF], signature: {returns: utf8}, body: 'pass'}
`,
	}))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, name, value string }{
		{"sandboxes[0]", "SPICED_T_PROCESS", "process"},
		{"functions[0]", "SPICED_T_FILE", hidden},
		{"functions[0]", "SPICED_T_LOCAL", "local"},
	} {
		v := pod.Variable(c.path, c.name)
		if v.Value.Reveal() != c.value || v.Message != "" {
			t.Errorf("%s: message %q, or another value", c.name, v.Message)
		}
		if shown := fmt.Sprintf("%v %+v %#v", v, v, v); strings.Contains(shown, c.value) {
			t.Errorf("%s is printed with its value", c.name)
		}
	}
	unset := pod.Variable("sandboxes[0]", "SPICED_T_FILES")
	if unset.Message != "the variable SPICED_T_FILES is not set" || !strings.Contains(unset.Hint, "there is a variable SPICED_T_FILE") {
		t.Errorf("got %q, hint %q", unset.Message, unset.Hint)
	}
	if other := pod.Variable("functions[0]", "HOME"); other.Message == "" {
		t.Error("a variable that no secrets name has a value")
	}
}
