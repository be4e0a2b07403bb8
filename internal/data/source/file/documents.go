package file

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/source/fileformat"
)

// DuckDB's glob fails for all files if the name of one is not UTF-8, and leaves out links that
// lead nowhere. A file must not fail a dataset of documents and none is left out in silence, so
// such a dataset lists its files here: one that cannot be read is listed with the reason.

// listing is a run of list.
type listing struct {
	*fileSource
	hidden bool // list hidden files too
	files  []fileformat.DocumentFile
}

// list returns the files below a folder that match the parts of a glob, in the order of their
// paths. The folder is in the roots. As in DuckDB, ** does not follow links to folders, and
// other parts do. Names are UTF-8 and unique: others are changed, in files with an error. The
// name of a folder, which is listed only with an error, ends with a slash.
func (s *fileSource) list(ctx context.Context, dir string, glob []string, hidden bool,
) ([]fileformat.DocumentFile, error) {
	l := &listing{fileSource: s, hidden: hidden}
	if _, err := os.ReadDir(dir); err != nil {
		return nil, fault.New("from", "", "cannot read folder %q: %s", dir, reason(err)).Retryable()
	}
	if err := l.match(ctx, dir, slices.Compact(glob)); err != nil {
		return nil, err
	}
	slices.SortFunc(l.files, func(a, b fileformat.DocumentFile) int { return cmp.Compare(a.File, b.File) })
	l.files = slices.Compact(l.files) // ** may match in several ways
	taken := make(map[string]bool, len(l.files))
	for _, f := range l.files {
		taken[f.File] = true
	}
	for i := range l.files {
		f := &l.files[i]
		if utf8.ValidString(f.File) {
			continue
		}
		name := strings.ToValidUTF8(f.File, "\uFFFD")
		extension := filepath.Ext(name)
		f.File, f.Error = name, "the path is not UTF-8; rename the file or its folder"
		for n := 2; taken[f.File]; n++ {
			f.File = fmt.Sprintf("%s (%d)%s", strings.TrimSuffix(name, extension), n, extension)
		}
		taken[f.File] = true
	}
	return l.files, nil
}

// match lists the files of a folder.
func (l *listing) match(ctx context.Context, dir string, glob []string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return l.add(fileformat.DocumentFile{File: dir + "/", Error: "the folder cannot be read: " + reason(err)})
	}
	part, rest := glob[0], glob[1:]
	deep := part == "**"
	if deep && len(rest) == 0 {
		rest = []string{"*"}
	}
	if deep {
		if err := l.match(ctx, dir, rest); err != nil {
			return err
		}
	}
	for _, e := range entries {
		path, next := filepath.Join(dir, e.Name()), rest
		switch ok, _ := filepath.Match(strings.ReplaceAll(part, "[!", "[^"), e.Name()); {
		case !l.hidden && fileformat.Hidden(e.Name()) && !fileformat.Hidden(part):
			continue
		case deep && !e.IsDir():
			continue
		case deep:
			next = glob
		case !ok:
			continue
		}
		f, folder := l.file(path, e)
		switch {
		case folder && len(next) > 0 && f.Error == "":
			err = l.match(ctx, path, next)
		case folder == (len(next) > 0):
			err = l.add(f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// file returns a file, or a folder, with the reason if it cannot be read. Nothing of what is
// outside of the roots is read.
func (l *listing) file(path string, e fs.DirEntry) (f fileformat.DocumentFile, folder bool) {
	f.File, folder = path, e.IsDir()
	info, err := os.Stat(path)
	if err == nil {
		f.Size, f.Modified, folder = info.Size(), float64(info.ModTime().UnixMicro()), info.IsDir()
	}
	link := e.Type()&fs.ModeSymlink != 0
	switch {
	case link && errors.Is(err, fs.ErrNotExist):
		f.Error = "it is a symbolic link to a file that does not exist"
	case link && errors.Is(err, syscall.ELOOP):
		f.Error = "it is a symbolic link that leads back to itself"
	case link && l.Roots.CheckFrom(l.d.From, path) != nil:
		f.Error = "it leads through a symbolic link outside of the data roots"
		if l.Roots.Check(path) == nil {
			f.Error = "it leads through a symbolic link outside of the folder of the dependency"
		}
	case err != nil && folder:
		f.File, f.Error = path+"/", "the folder cannot be read: "+reason(err)
	case err != nil:
		f.Error = "the file cannot be read: " + reason(err)
	case !folder && !info.Mode().IsRegular():
		f.Error = "it is not a regular file"
	}
	if f.Error != "" { // of a link, and not of its target
		f.Size, f.Modified = 0, 0
		if own, err := e.Info(); err == nil {
			f.Modified = float64(own.ModTime().UnixMicro())
		}
	}
	return f, folder
}

func (l *listing) add(f fileformat.DocumentFile) error {
	if l.files = append(l.files, f); len(l.files) > l.MaxFiles {
		return fault.New("from", "name fewer files", "%q matches more than %d files", l.d.From.Shown, l.MaxFiles)
	}
	return nil
}

// reason is an error without the path.
func reason(err error) string {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		err = path.Err
	}
	return err.Error()
}

// documents returns the files of a list whose names match the last part of a pattern, and the
// folders that cannot be read.
func documents(listed []fileformat.DocumentFile, patterns []string) (out fileformat.Files) {
	out.Patterns = patterns
	for _, f := range listed {
		if strings.HasSuffix(f.File, "/") || slices.ContainsFunc(patterns, func(p string) bool {
			ok, _ := filepath.Match(filepath.Base(p), filepath.Base(f.File))
			return ok
		}) {
			out.Listed, out.Found, out.Bytes = append(out.Listed, f), append(out.Found, f.File), out.Bytes+f.Size
		}
	}
	return out
}

// names are the paths of files.
func names(listed []fileformat.DocumentFile) []string {
	out := make([]string, len(listed))
	for i, f := range listed {
		out[i] = f.File
	}
	return out
}
