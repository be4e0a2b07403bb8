package spicepod

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// No printer shows the value of a reference or the password of a URL.
func TestTextPrinters(t *testing.T) {
	for _, c := range []struct {
		text Text
		want string
	}{
		{Text{Raw: "https://ann:hunter2@host/a.csv"}, "https://ann:***@host/a.csv"},
		{Text{Raw: "https://:hunter2@host:80/a@b"}, "https://:***@host:80/a@b"},
		{NewText("https://ann:${env:PASS}@host", "https://ann:hunter2@host"), "https://ann:${env:PASS}@host"},
		{Text{Raw: "https://host:8080/a.csv"}, "https://host:8080/a.csv"},
		{Text{Raw: "https://ann@host/a:b@c"}, "https://ann@host/a:b@c"},
	} {
		var log bytes.Buffer
		slog.New(slog.NewTextHandler(&log, nil)).Info("x", "text", c.text)
		encoded, err := json.Marshal(map[string]any{"text": c.text})
		if err != nil {
			t.Fatal(err)
		}
		all := []string{
			c.text.String(), fmt.Sprint(c.text), fmt.Sprintf("%s %q %v %+v %#v %x", c.text, c.text, c.text, c.text, c.text, c.text), string(encoded),
			log.String(),
		}
		for _, got := range all {
			if !strings.Contains(got, c.want) || strings.Contains(got, "hunter2") {
				t.Errorf("got %s, want %s", got, c.want)
			}
		}
	}
}
