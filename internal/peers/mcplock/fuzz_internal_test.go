package mcplock

import (
	"errors"
	"reflect"
	"testing"
)

// A file that can be read can be written, and then reads the same.
func FuzzParse(f *testing.F) {
	f.Add("maps:\n  route: \"0123456789abcdef\" # Finds.\n")
	f.Add("\"a\\u200b\": # x\r\n \"null\": \"0000000000000000\" # # \\u200b …\n")
	f.Add("<<<<<<< HEAD\n")
	f.Fuzz(func(t *testing.T, text string) {
		file, err := parse("f", text)
		if err != nil {
			var damage *SyntaxError
			if !errors.As(err, &damage) || damage.Line < 1 {
				t.Fatalf("%v", err)
			}
			return
		}
		once := rendered(t, file)
		again, err := parse("f", once)
		if err != nil {
			t.Fatalf("%v of\n%s", err, once)
		}
		if twice := rendered(t, again); twice != once {
			t.Errorf("written again:\n%s\nfirst:\n%s", twice, once)
		}
		if changes := Diff(file.Servers(), again.Servers()); len(changes) != 0 {
			t.Errorf("%v", changes)
		}
	})
}

func rendered(t *testing.T, f *File) string {
	t.Helper()
	text, err := render(f.Servers())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Any names and descriptions round-trip, or are rejected.
func FuzzRender(f *testing.F) {
	f.Add("maps", "route", "Finds.\nMore.")
	f.Add("null", "a\nb", "# \u202e\x1b[31m")
	f.Fuzz(func(t *testing.T, server, tool, description string) {
		in := map[string][]Entry{server: {{tool, "0123456789abcdef", description}}}
		text, err := render(in)
		if err != nil {
			if checkName(server) == nil && checkName(tool) == nil {
				t.Fatal(err)
			}
			return
		}
		file, err := parse("f", string(text))
		if err != nil {
			t.Fatalf("%v of\n%s", err, text)
		}
		in[server][0].Description = firstLine(description)
		if got := file.Servers(); !reflect.DeepEqual(got, in) {
			t.Errorf("%q, want %q", got, in)
		}
	})
}
