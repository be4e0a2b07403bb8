package environment

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"

	"github.com/spiced-sql/spiced/spicepod"
)

// digits is how many hex digits of a SHA-256 a short checksum has.
const digits = 16

// sum is a SHA-256 over parts that are kept apart.
type sum struct{ hash.Hash }

func newSum(parts ...string) sum {
	s := sum{sha256.New()}
	s.add(parts...)
	return s
}

func (s sum) add(parts ...string) {
	for _, p := range parts {
		fmt.Fprintf(s, "%d:%s", len(p), p)
	}
}

// list adds a list with its length.
func (s sum) list(parts []string) {
	fmt.Fprintf(s, "[%d]", len(parts))
	s.add(parts...)
}

func (s sum) hex() string { return hex.EncodeToString(s.Sum(nil)) }

// checksum covers the code, the requirements and the declaration of what a call runs.
func (f *Function) checksum() string {
	params := fmt.Sprintf("%#v", f.Declared.Params) // as written: without the values of secrets
	s := newSum("function", string(f.runtime), f.Declared.Scheme(), source(f.Declared), f.Entrypoint,
		string(f.Declared.Kind), params, spicepod.Fingerprint(f.Declared.Signature))
	s.list(f.Dependencies)
	s.list(f.Secrets)
	return s.hex()[:digits]
}

// checksum covers everything of the sandbox that affects its code.
func (e *Environment) checksum() string {
	d := e.Declared
	s := newSum("sandbox", strings.ToLower(e.Name), string(d.Runtime), string(d.Network), string(d.Isolation),
		spicepod.Fingerprint(d.Limits))
	s.list(e.Dependencies)
	s.list(e.Secrets)
	s.list(sortedSet(d.Secrets))
	for _, f := range e.Functions {
		s.add(strings.ToLower(f.Name), f.Checksum)
	}
	return s.hex()
}

// key is the name of the folder with the packages for an interpreter. It does not change with
// the code.
func (e *Environment) key(p *Python) string {
	if len(e.Dependencies) == 0 || p == nil {
		return ""
	}
	s := newSum("packages", p.Implementation, p.Version, p.Platform, p.Executable)
	s.list(e.Dependencies)
	return s.hex()[:digits]
}

// source returns the code as it is compared: with line feeds alone.
func source(f *spicepod.Function) string {
	return strings.ReplaceAll(strings.ReplaceAll(f.Body, "\r\n", "\n"), "\r", "\n")
}
