package spicepod_test

import (
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/spiced-sql/spiced/spicepod"
)

// write makes a folder with a Spicepod.
func write(text string) (dir string) {
	dir, err := os.MkdirTemp("", "example")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "spicepod.yaml"), []byte(text), 0o600)
	}
	if err != nil {
		log.Fatal(err)
	}
	return dir
}

func ExampleLoad() {
	dir := write(`
version: v1
kind: Spicepod
name: temperatures
functions:
  - name: fahrenheit
    from: sql
    signature: { args: [{ name: celsius, type: float64 }], returns: float64 }
    body: celsius * 1.8 + 32
`)
	defer os.RemoveAll(dir)
	pod, err := spicepod.Load(dir)
	if err != nil {
		log.Fatal(err)
	}
	f := pod.Functions[0]
	fmt.Println(pod.Name, f.Name, f.Signature.Args[0].Type)
	// Output: temperatures fahrenheit float64
}

// Every fault of the file is reported at once, with its position.
func ExampleProblems_WriteText() {
	dir := write(`version: v1
kind: Spicepod
name: temperatures
functions:
  - name: fahrenheit
    descripton: Degrees Celsius in Fahrenheit.
    from: sql
    signature: { args: [{ name: celsius, type: float64 }], returns: float64 }
    body: celsius * 1.8 + 32
`)
	defer os.RemoveAll(dir)
	_, err := spicepod.Load(dir)
	var problems spicepod.Problems
	if errors.As(err, &problems) {
		problems.WriteText(os.Stdout)
	}
	// Output:
	// spicepod.yaml:6:5: unknown key "descripton" in functions[0]; did you mean "description"?
	//   6 |     descripton: Degrees Celsius in Fahrenheit.
	//     |     ^
}

// The value of a reference is shown by Reveal alone.
func ExampleText() {
	os.Setenv("EXAMPLE_TOKEN", "s3cr3t")
	dir := write(`
version: v1
kind: Spicepod
name: secrets
datasets:
  - name: orders
    from: https://example.com/orders.csv
    params: { http_password: "${env:EXAMPLE_TOKEN}" }
`)
	defer os.RemoveAll(dir)
	pod, err := spicepod.Load(dir)
	if err != nil {
		log.Fatal(err)
	}
	password := pod.Datasets[0].Params["http_password"].(spicepod.Text)
	fmt.Println(password, password.Secret(), password.Reveal() == "s3cr3t")
	// Output: ${env:EXAMPLE_TOKEN} true true
}

func ExampleParseSize() {
	for _, text := range []string{"128MiB", "4GB", "4096"} {
		size, err := spicepod.ParseSize(text)
		fmt.Println(int64(size), err)
	}
	// Output:
	// 134217728 <nil>
	// 4000000000 <nil>
	// 4096 <nil>
}

func ExampleParseDuration() {
	for _, text := range []string{"2m30s", "1d", "15"} {
		d, err := spicepod.ParseDuration(text)
		fmt.Println(d, err)
	}
	// Output:
	// 2m30s <nil>
	// 24h0m0s <nil>
	// 15s <nil>
}

// Equal declarations have equal fingerprints, wherever they are in the file.
func ExampleFingerprint() {
	a := spicepod.View{Name: "recent", SQL: "SELECT * FROM orders"}
	same, other := a, a
	other.SQL = "SELECT id FROM orders"
	fmt.Println(spicepod.Fingerprint(a) == spicepod.Fingerprint(same), spicepod.Fingerprint(a) == spicepod.Fingerprint(other))
	// Output: true false
}
