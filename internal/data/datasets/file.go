package datasets

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// files are what a path of the Spicepod stands for.
type files struct {
	patterns []string // for DuckDB
	found    []string // some of the files, to tell the format by and to look into
	bytes    int64
}

// findFiles resolves the path of a `file:` source. No file outside of the
// roots passes, be it through .. or a symbolic link.
func (m *Manager) findFiles(ctx context.Context, d *Dataset) (files, error) {
	path := d.source.absolute(d.source.target)
	if err := m.checkRoot(path); err != nil {
		return files{}, err
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return m.folder(ctx, d, path)
	case err == nil && !info.Mode().IsRegular():
		return files{}, newFault("from", "name a regular file or a folder", "%q is no regular file", path)
	case err == nil:
		return files{[]string{escapeGlob(path)}, []string{path}, info.Size()}, nil
	case strings.ContainsAny(path, "*?["):
		return m.glob(ctx, []string{path})
	case errors.Is(err, fs.ErrNotExist):
		return files{}, missingFile(path)
	}
	return files{}, newFault("from", "", "cannot read %q: %s", path, reason(err)).mayReturn()
}

// missingFile names the path that was looked at, and a name that comes close.
func missingFile(path string) *fault {
	hint := "paths begin at the folder of the file that declares the dataset"
	if entries, err := os.ReadDir(filepath.Dir(path)); err == nil {
		names := make([]string, len(entries))
		for i, e := range entries {
			names[i] = e.Name()
		}
		if near := nearest.Name(filepath.Base(path), names); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
	}
	return newFault("from", hint, "file %q does not exist", path).mayReturn()
}

func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// checkRoot refuses a path, or the part of a glob before its first
// metacharacter, that is outside of the roots or leads there.
func (m *Manager) checkRoot(path string) error {
	fixed := path
	if strings.ContainsAny(path, "*?[") {
		if _, err := os.Lstat(path); err != nil {
			fixed = filepath.Dir(path[:strings.IndexAny(path, "*?[")] + "x")
		}
	}
	if !within(fixed, m.opts.Roots) && !within(fixed, m.realRoots) {
		return newFault("from", fmt.Sprintf("add %q to runtime.data_roots and restart spiced", rootFor(fixed)),
			"%q is outside of the data roots", path)
	}
	real, err := filepath.EvalSymlinks(fixed)
	if err != nil {
		return nil // it does not exist: the caller says so
	}
	if !within(real, m.realRoots) {
		return newFault("from", fmt.Sprintf("add %q to runtime.data_roots and restart spiced", rootFor(real)),
			"%q leads through a symbolic link to %q, outside of the data roots", path, real)
	}
	return nil
}

// rootFor is the folder to allow for a path.
func rootFor(path string) string {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return path
	}
	return filepath.Dir(path)
}

func within(path string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		rel, err := filepath.Rel(root, path)
		return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
	})
}

// escapeGlob makes DuckDB read a path as it is.
func escapeGlob(path string) string {
	if !strings.ContainsAny(path, "*?[") {
		return path
	}
	return strings.NewReplacer("[", "[[]", "*", "[*]", "?", "[?]").Replace(path)
}

// glob lists what patterns stand for.
func (m *Manager) glob(ctx context.Context, patterns []string) (files, error) {
	out := files{patterns: patterns}
	stage, err := m.opts.DB.Stage(ctx)
	if err != nil {
		return out, err
	}
	defer stage.Close()
	for _, p := range patterns {
		query := fmt.Sprintf("SELECT file FROM glob(%s) LIMIT %d", literal(p), m.limits.files+1)
		err = stage.Run(ctx, func() error {
			return stage.Query(query, func(c *engine.Chunk) error {
				for i := range c.Len() {
					out.found = append(out.found, string(c.Column(0).Bytes(i)))
				}
				return nil
			})
		})
		if err != nil {
			return out, describeError(err)
		}
	}
	switch n := len(out.found); {
	case n == 0:
		return out, newFault("from", "", "no file matches %q", patterns[0]).mayReturn()
	case n > m.limits.files:
		return out, newFault("from", "name fewer files", "%q stands for more than %d files", patterns[0], m.limits.files)
	}
	for _, f := range out.found {
		if err := m.checkRoot(f); err != nil {
			return out, err
		}
		if info, err := os.Stat(f); err == nil {
			out.bytes += info.Size()
		}
	}
	return out, nil
}

// folder reads every file of one format below a folder.
func (m *Manager) folder(ctx context.Context, d *Dataset, dir string) (files, error) {
	wanted := ""
	if d.Declared.Params.Has("file_extension") {
		text, err := d.Declared.Params.String("file_extension")
		if err != nil {
			return files{}, err
		}
		wanted = "." + strings.TrimPrefix(strings.ToLower(text), ".")
		if strings.ContainsAny(wanted, "*?[/\\") {
			return files{}, newFault("params.file_extension", "write an extension such as csv", "%q is no extension", text)
		}
	}
	all, err := m.glob(ctx, []string{filepath.Join(escapeGlob(dir), "**")})
	if err != nil {
		return all, err
	}
	var extensions []string
	var kinds []*format
	for _, name := range all.found {
		if strings.HasPrefix(filepath.Base(name), ".") || strings.HasPrefix(filepath.Base(name), "_") {
			continue
		}
		f := formatOf(name)
		ext, compression := splitExtension(name)
		switch {
		case wanted != "" && ext+compression != wanted && ext != wanted:
			continue
		case wanted == "" && (f == nil || d.format != nil && f.reader != d.format.reader):
			continue
		}
		if f != nil && !slices.Contains(kinds, f) {
			kinds = append(kinds, f)
		}
		if !slices.Contains(extensions, ext+compression) {
			extensions = append(extensions, ext+compression)
		}
	}
	switch {
	case len(extensions) == 0:
		return files{}, newFault("from", "served: "+servedFormats, "folder %q holds no file of a served format", dir).mayReturn()
	case len(kinds) > 1 && d.format == nil:
		return files{}, newFault("from", "set params.file_format, or name the files with a glob",
			"folder %q holds files of several formats: %s and %s", dir, kinds[0].name, kinds[1].name)
	}
	slices.Sort(extensions)
	patterns := make([]string, len(extensions))
	for i, e := range extensions {
		patterns[i] = filepath.Join(escapeGlob(dir), "**", "*"+e)
	}
	return m.glob(ctx, patterns)
}
