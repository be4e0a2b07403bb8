package spicepod

import "testing"

func TestAddVariable(t *testing.T) {
	for value, want := range map[string]string{
		"hunter2": "A=1\nP=hunter2\n", "two words": "A=1\nP='two words'\n", "$HOME#": "A=1\nP='$HOME#'\n", "it's": "A=1\nP=\"it's\"\n", "": "A=1\nP=''\n",
		"it's $HOME \"x\" \\ `y`!\n": "A=1\nP=\"it's \\$HOME \\\"x\\\" \\\\ `y`!\\n\"\n",
	} {
		for _, before := range []string{"A=1\n", "A=1"} {
			got, err := AddVariable(before, "P", value)
			if err != nil || got != want {
				t.Errorf("%q: %v, got %q, want %q", value, err, got, want)
			}
			if all, err := Variables(got); err != nil || all["P"] != value || all["A"] != "1" {
				t.Errorf("%q: read as %q, %v", value, all, err)
			}
		}
	}
	if _, err := Variables("A=1\n'"); err == nil || err.Error() != "line 2 is not KEY=value" {
		t.Errorf("got %v", err)
	}
}

func FuzzAddVariable(f *testing.F) {
	f.Add("A=1", "it's $HOME")
	f.Fuzz(func(t *testing.T, text, value string) {
		got, err := AddVariable(text, "NAME_OF_IT", value)
		if err != nil {
			return
		}
		if all, err := Variables(got); err != nil || all["NAME_OF_IT"] != value {
			t.Errorf("%q is read as %q, %v", value, all["NAME_OF_IT"], err)
		}
	})
}
