package auth

import (
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/spicepod"
)

const (
	apiKeyPath  = "runtime.auth.api-key"
	writeSuffix = ":rw"
	readSuffix  = ":ro" // what a key without a suffix means, written out
)

// entry is a declared key with its positions in the file.
type entry struct {
	spicepod.Principal
	path, namePath, keyPath string

	unnamed bool

	key    string // without the suffix
	write  bool
	limits spicepod.PrincipalLimits // the key's, or the default ones
}

// reader reads runtime.auth.api-key and collects problems.
type reader struct {
	pod      *spicepod.Pod
	names    map[string]string // to the path of the declaration
	keys     map[digest]string // to the path of the declaration
	problems spicepod.Problems
}

// entries are the validly declared keys.
func (r *reader) entries(api *spicepod.APIKey) []*entry {
	declared := declarations(api)
	if len(declared) == 0 {
		r.fault("", apiKeyPath, "keys are required and none is declared: every caller would be refused",
			"add one under keys or principals, or set enabled: false")
	}
	if len(declared) > MaxKeys {
		r.fault("", apiKeyPath, fmt.Sprintf("there are %d keys; at most %d", len(declared), MaxKeys),
			"give callers who share a principal the same key")
		declared = declared[:MaxKeys]
	}
	r.checkLimits("", apiKeyPath+".limits", api.Limits)
	var good []*entry
	for _, e := range declared {
		if r.check(e) {
			good = append(good, e)
		}
	}
	return good
}

// declarations are the unnamed keys, followed by the named ones.
func declarations(api *spicepod.APIKey) []*entry {
	var all []*entry
	for i, text := range api.Keys {
		path := fmt.Sprintf("%s.keys[%d]", apiKeyPath, i)
		all = append(all, &entry{
			Principal: spicepod.Principal{Name: numberedName(i + 1), Key: text},
			path:      path, namePath: path, keyPath: path, unnamed: true,
		})
	}
	for i, p := range api.Principals {
		path := fmt.Sprintf("%s.principals[%d]", apiKeyPath, i)
		all = append(all, &entry{Principal: p, path: path, namePath: path + ".name", keyPath: path + ".key"})
	}
	for _, e := range all {
		e.limits = api.Limits
		if e.Limits != nil {
			e.limits = *e.Limits
		}
		if e.key, e.write = strings.CutSuffix(e.Key.Reveal(), writeSuffix); !e.write {
			e.key = strings.TrimSuffix(e.key, readSuffix)
		}
	}
	return all
}

// check reports whether the entry is valid.
func (r *reader) check(e *entry) bool {
	if e.Limits != nil {
		r.checkLimits(e.Name, e.path+".limits", *e.Limits)
	}
	name, key, scope := r.checkName(e), r.checkKey(e), r.checkScope(e)
	return name && key && scope
}

// numbered matches the results of numberedName.
var numbered = regexp.MustCompile(`^key-[0-9]+$`)

func (r *reader) checkName(e *entry) bool {
	message := nameFault(e.Name)
	hint := "give each principal a short name of its own"
	if owner, taken := r.names[e.Name]; message == "" && taken {
		message = fmt.Sprintf("the name %q is that of %s, at %s", e.Name, owner, r.pod.At(owner))
		hint += "; keys without one are called key-1, key-2, …"
	}
	if message == "" && !e.unnamed && numbered.MatchString(e.Name) {
		message = fmt.Sprintf("the name %q is one of keys without a name", e.Name)
	}
	if message != "" {
		r.fault("", e.namePath, message, hint)
		return false
	}
	r.names[e.Name] = e.path
	return true
}

func nameFault(name string) string {
	switch {
	case name == "":
		return "the name is empty"
	case len(name) > MaxNameBytes:
		return fmt.Sprintf("the name has more than %d bytes", MaxNameBytes)
	case !plain(name):
		return fmt.Sprintf("the name %q holds a control character", name)
	}
	return ""
}

// checkScope checks the texts that become ctx('user_id') and ctx('space_id').
func (r *reader) checkScope(e *entry) bool {
	good := true
	for _, field := range []struct{ key, text string }{{"user_id", e.UserID}, {"space_id", e.SpaceID}} {
		if !plain(field.text) {
			r.fault(e.Name, e.path+"."+field.key, fmt.Sprintf("%s %q holds a control character", field.key,
				truncate.Ellipsis(field.text, maxShown)), "take it out")
			good = false
		}
	}
	return good
}

// checkKey reports neither the key nor anything that helps to guess it.
func (r *reader) checkKey(e *entry) bool {
	message, hint := keyFault(e.key)
	sum := digestOf(e.key)
	if owner, taken := r.keys[sum]; message == "" && taken {
		message = fmt.Sprintf("the key is the same as that of %s, at %s", owner, r.pod.At(owner))
		hint = "give each caller its own key; a key cannot be both read-only and " + writeSuffix
	}
	if message != "" {
		r.fault(e.Name, e.keyPath, message, hint)
		return false
	}
	r.keys[sum] = e.path
	if len(e.key) < MinKeyBytes {
		r.warn(e.Name, e.keyPath, fmt.Sprintf("the key is shorter than %d bytes and can be guessed", MinKeyBytes),
			"openssl rand -hex 32 makes a good one")
	}
	if strings.ContainsFunc(e.key, func(c rune) bool { return c > unicode.MaxASCII }) {
		r.warn(e.Name, e.keyPath, "the key has characters outside ASCII, which clients send in different ways",
			"openssl rand -hex 32 makes a good one")
	}
	return true
}

// approvers returns the valid names of runtime.auth.approvers. They are names of
// principals: the number of an unnamed key may be another key's in the next run.
func (r *reader) approvers(a *spicepod.Auth) []string {
	var names, good []string
	for _, p := range a.APIKey.Principals {
		names = append(names, p.Name)
	}
	for i, name := range a.Approvers {
		if slices.Contains(names, name) {
			good = append(good, name)
			continue
		}
		r.fault("", fmt.Sprintf("runtime.auth.approvers[%d]", i),
			fmt.Sprintf("there is no principal %q", truncate.Ellipsis(name, maxShown)),
			nearest.Hint(name, names, "write the name of an entry of runtime.auth.api-key.principals"))
	}
	return good
}

func keyFault(key string) (message, hint string) {
	switch {
	case key == "":
		return "the key is empty", "put a long random text into a variable, and name it: ${env:SPICED_API_KEY}"
	case len(key) > MaxKeyBytes:
		return fmt.Sprintf("the key has more than %d bytes", MaxKeyBytes), "openssl rand -hex 32 makes a good one"
	case !plain(key):
		return "the key holds a control character or is not UTF-8", "look for a line break at the end of its variable"
	case strings.TrimSpace(key) != key:
		return "the key begins or ends with a space, which HTTP takes away", "take it out"
	}
	return "", ""
}

// plain reports whether a text is UTF-8 without control characters.
func plain(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

// checkLimits warns of limits that have no effect.
func (r *reader) checkLimits(name, path string, limits spicepod.PrincipalLimits) {
	if limits.Burst > 0 && limits.RequestsPerSecond == 0 {
		r.warn(name, path+".burst", "burst does nothing without requests_per_second", "set requests_per_second too")
	}
}

func (r *reader) fault(name, path, message, hint string) {
	r.add(spicepod.Error, name, path, message, hint)
}

func (r *reader) warn(name, path, message, hint string) {
	r.add(spicepod.Warning, name, path, message, hint)
}

// add omits the source line, which may contain a key. name is the principal
// with the fault, or "".
func (r *reader) add(severity spicepod.Severity, name, path, message, hint string) {
	p := r.pod.Problem(path, message, hint)
	p.Severity, p.Source = severity, ""
	if nameFault(name) == "" {
		p.Component = "principal " + name
	}
	r.problems = append(r.problems, p)
}

// credentials hashes the keys in parallel: with a thousand keys it takes about
// a second.
func (r *reader) credentials(entries []*entry, salt []byte) []*credential {
	all := make([]*credential, len(entries))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, e := range entries {
		group.Go(func() (err error) {
			all[i], err = e.credential(salt)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		r.fault("", apiKeyPath, "the keys cannot be hashed: "+err.Error(), "")
		return nil
	}
	return all
}

func (e *entry) credential(salt []byte) (*credential, error) {
	v, err := newVerifier(e.key, salt)
	if err != nil {
		return nil, err
	}
	return &credential{
		unnamed: e.unnamed,
		principal: &Principal{
			Name:       e.Name,
			Write:      e.write,
			UserID:     e.UserID,
			SpaceID:    e.SpaceID,
			OnBehalfOf: e.OnBehalfOf,
			Weight:     e.limits.Weight,
			digest:     digestOf(e.key),
			limiter:    newLimiter(e.limits),
		},
		verifier: v,
	}, nil
}
