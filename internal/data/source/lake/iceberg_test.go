package lake

import "testing"

func TestVersion(t *testing.T) {
	for _, c := range []struct {
		name    string
		number  int
		version string
	}{
		{"v3.metadata.json", 3, "3"},
		{"00012-2fc86eb7.metadata.json", 12, "00012-2fc86eb7"},
		{"12.metadata.json", 12, "12"},
		{"v03.metadata.json", 3, "v03"},
		{"x.metadata.json", -1, "x"},
		{"99999999999999999999.metadata.json", -1, "99999999999999999999"},
		{".metadata.json", -1, ""},
	} {
		if n, v := number("t/metadata/"+c.name), version(c.name); n != c.number || v != c.version {
			t.Errorf("%s: got %d, %q", c.name, n, v)
		}
	}
}
