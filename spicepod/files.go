package spicepod

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// MaxShownFile is the size of a file that [Pod.ReadFile] returns, in bytes.
const MaxShownFile = 4 << 20

// File is a file of a Spicepod: its own, one of a dependency, or one that ref, body_ref or sql_ref names.
type File struct {
	Path     string // as problems name it
	Spicepod string // the name of the Spicepod that reads it
	Bytes    int64
	Main     bool // the file of the Spicepod that is served
}

// ErrNoFile is the error of a path that is not one of [Pod.Files].
var ErrNoFile = errors.New("the Spicepod has no such file")

// Files returns the files that the Spicepod was read from and that are there now, the Spicepod's own first,
// then by path. The variables of .env files are not among them.
func (p *Pod) Files() []File {
	var list []File
	for path := range p.sources() {
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		name, _ := p.owner(path)
		list = append(list, File{
			Path: shownPath(p.Dir, path), Spicepod: name, Bytes: info.Size(), Main: path == p.File,
		})
	}
	slices.SortFunc(list, func(a, b File) int {
		if a.Main != b.Main {
			return map[bool]int{true: -1, false: 1}[a.Main]
		}
		return strings.Compare(a.Path, b.Path)
	})
	return list
}

// sources are the paths of the files, absolute.
func (p *Pod) sources() map[string]bool {
	all := map[string]bool{}
	if p.index == nil {
		return all
	}
	for path := range p.index.files {
		if name := filepath.Base(path); name != ".env" && !strings.HasPrefix(name, ".env.") {
			all[path] = true
		}
	}
	return all
}

// owner returns the name of the Spicepod that reads a file, and its folder.
func (p *Pod) owner(path string) (name, dir string) {
	name, dir = p.Name, p.Dir
	for _, d := range p.dependencies {
		if inFolder(path, d.dir) && (dir == p.Dir || len(d.dir) > len(dir)) {
			name, dir = d.name, d.dir
		}
	}
	return name, dir
}

// ReadFile returns the text of one of [Pod.Files] as it is now, with literal secrets masked, and how many
// those are. The path selects one of them and is not used otherwise; where the loader follows no
// symbolic link, ReadFile does not either. Errors are [ErrNoFile], and what is wrong with the file.
func (p *Pod) ReadFile(path string) (text string, masked int, err error) {
	for source := range p.sources() {
		if shownPath(p.Dir, source) != path {
			continue
		}
		_, dir := p.owner(source)
		name, isPod := strings.CutPrefix(source, filepath.Join(dir, "spicepod."))
		isPod = isPod && (name == "yaml" || name == "yml")
		if source != p.File && !isPod && !inFolder(real(source), real(dir)) {
			return "", 0, errors.New("it is a link that leads out of the folder of the Spicepod")
		}
		raw, err := readRegular(source, MaxShownFile)
		if err != nil {
			return "", 0, errors.New(reason(err))
		}
		text, at, fault := cleanText(raw)
		if at >= 0 {
			return "", 0, fmt.Errorf("it cannot be shown: %s", fault)
		}
		text, n := mask(source, text)
		return text, n, nil
	}
	return "", 0, ErrNoFile
}
