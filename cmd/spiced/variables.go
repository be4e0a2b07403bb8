package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/disk"
	"github.com/spiced-sql/spiced/spicepod"
)

// envFile has the values that must not be in spicepod.yaml.
const envFile = ".env.local"

// variables are those of .env.local that a dataset refers to.
type variables struct {
	dir, prefix string
	existing    map[string]string // of .env and .env.local
	added       []variable
}

type variable struct{ name, value string }

// readVariables reads the variables of the folder of a Spicepod, for a dataset.
func readVariables(dir, dataset string) (*variables, error) {
	v := &variables{dir: dir, prefix: upper(dataset), existing: map[string]string{}}
	for _, name := range []string{".env", envFile} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		all, parse := spicepod.Variables(string(text))
		if err := errors.Join(err, parse); err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		maps.Copy(v.existing, all)
	}
	return v, nil
}

// notInVariables matches what names of variables do not have.
var notInVariables = regexp.MustCompile(`[^A-Z0-9]+`)

func upper(name string) string {
	name = strings.Trim(notInVariables.ReplaceAllString(strings.ToUpper(name), "_"), "_")
	if name == "" || name[0] < 'A' {
		name = "DATASET_" + name
	}
	return name
}

// values are the variables to add, by name.
func (v *variables) values() map[string]string {
	all := map[string]string{}
	for _, a := range v.added {
		all[a.name] = a.value
	}
	return all
}

// reference returns a reference to a variable with the value of a param: one that another
// dataset has for the same param, or a new one.
func (v *variables) reference(param, value string) string {
	suffix := "_" + upper(param)
	for _, name := range slices.Sorted(maps.Keys(v.existing)) {
		if _, other := os.LookupEnv(name); strings.HasSuffix(name, suffix) && v.existing[name] == value && !other {
			return "${env:" + name + "}"
		}
	}
	name := v.prefix + suffix
	for i := 2; v.taken(name); i++ {
		name = fmt.Sprintf("%s%s_%d", v.prefix, suffix, i)
	}
	v.added = append(v.added, variable{name, value})
	return "${env:" + name + "}"
}

func (v *variables) taken(name string) bool {
	_, here := v.existing[name]
	_, set := os.LookupEnv(name)
	return here || set || slices.ContainsFunc(v.added, func(a variable) bool { return a.name == name })
}

// write appends the variables to .env.local, which only its owner can read unless it is
// there with other permissions.
func (v *variables) write(out io.Writer) error {
	if len(v.added) == 0 {
		return nil
	}
	path, mode := filepath.Join(v.dir, envFile), fs.FileMode(0o600)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	raw, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text := string(raw)
	for _, a := range v.added {
		if text, err = spicepod.AddVariable(text, a.name, a.value); err != nil {
			return fmt.Errorf("%s: %w; set it in the environment, and write ${env:%[1]s} as --param", a.name, err)
		}
	}
	if err := disk.Write(path, []byte(text), mode); err != nil {
		return err
	}
	for _, a := range v.added {
		fmt.Fprintf(out, "wrote %s to %s\n", a.name, envFile)
	}
	if mode&0o077 != 0 {
		fmt.Fprintf(out, "others can read %s; run: chmod 600 %[1]s\n", envFile)
	}
	if !v.ignored() {
		fmt.Fprintf(out, "add %s to .gitignore, so that git does not store it\n", envFile)
	}
	return nil
}

// ignored reports whether the folder is in no git repository, or the .gitignore of one of
// its folders has .env.local.
func (v *variables) ignored() bool {
	for dir := v.dir; ; dir = filepath.Dir(dir) {
		text, _ := os.ReadFile(filepath.Join(dir, ".gitignore"))
		for line := range strings.Lines(string(text)) {
			line = strings.TrimPrefix(strings.TrimSpace(line), "/")
			if ok, err := filepath.Match(strings.TrimPrefix(line, "**/"), envFile); ok && err == nil {
				return true
			}
		}
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
	}
}
