package mcpclient_test

import "testing"

// BenchmarkCall measures a round trip to a tool of a process.
func BenchmarkCall(b *testing.B) {
	w := newWorld(b)
	echo := tool(b, w.open(command("s", "sdk")), "s__echo")
	for b.Loop() {
		if _, err := call(b.Context(), echo, `{"a":1}`); err != nil {
			b.Fatal(err)
		}
	}
}
