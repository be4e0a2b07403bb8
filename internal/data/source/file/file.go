// Package file is the connector for local files: a file, a folder or a glob in
// the data roots.
//
//	connector := file.Kind.Open(source.Host{DB: db, Roots: roots, MaxFiles: 100_000})
//	src, err := connector.Compile(declaration)
//	opened, err := src.Open(ctx)
package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/internal/data/source/fileformat"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// knownParams are those of the connector, in addition to the options of the file format.
var knownParams = []spicepod.Param{{Name: "file_extension", Doc: "Extension of the files of a folder."}}

// connector opens local files.
type connector struct{ source.Host }

type fileSource struct {
	*connector
	d      source.Declaration
	reader *fileformat.Reader
}

// Compile checks the params.
func (c *connector) Compile(d source.Declaration) (source.Source, error) {
	r, err := fileformat.Compile(d, d.From.Target, knownParams)
	return &fileSource{c, d, r}, err
}

// Open finds the files.
func (s *fileSource) Open(ctx context.Context) (*source.Opened, error) {
	found, err := s.find(ctx)
	if err != nil {
		return nil, err
	}
	return s.reader.Open(ctx, s.Host, found)
}

// find returns the files of the path, all in the roots.
func (s *fileSource) find(ctx context.Context) (fileformat.Files, error) {
	path := s.d.From.Absolute(s.d.From.Target)
	if err := s.Roots.CheckFrom(s.d.From, path); err != nil {
		return fileformat.Files{}, err
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return s.folder(ctx, path)
	case err == nil && !info.Mode().IsRegular():
		return fileformat.Files{}, fault.New("from", "name a regular file or a folder", "%q is not a regular file", path)
	case err == nil:
		return fileformat.One(path, info.Size()), nil
	case strings.ContainsAny(path, "*?["):
		return s.matches(ctx, path)
	case errors.Is(err, fs.ErrNotExist):
		return fileformat.Files{}, source.MissingFile(path)
	}
	return fileformat.Files{}, fault.New("from", "", "cannot read %q: %s", path, reason(err)).Retryable()
}

// matches returns the files that a glob matches. Those of documents are listed here.
func (s *fileSource) matches(ctx context.Context, glob string) (fileformat.Files, error) {
	const separator = string(filepath.Separator)
	base := glob[:strings.LastIndex(glob[:strings.IndexAny(glob, "*?[")], separator)+1]
	if !s.reader.Tables() {
		listed, err := s.list(ctx, base, strings.Split(glob[len(base):], separator), false)
		switch {
		case err != nil:
			return fileformat.Files{}, err
		case len(listed) > 0 && s.reader.Documents(listed[0].File):
			return fileformat.Files{Patterns: []string{glob}, Found: names(listed), Listed: listed, Base: base}, nil
		case len(listed) == 0 && s.reader.Documents(glob):
			return fileformat.Files{}, fault.New("from", "", "no file matches %q", glob).Retryable()
		}
	}
	files, err := s.glob(ctx, []string{glob})
	files.Base = base
	return files, err
}

// glob returns the files that patterns match.
func (s *fileSource) glob(ctx context.Context, patterns []string) (fileformat.Files, error) {
	out := fileformat.Files{Patterns: patterns}
	for _, p := range patterns {
		query := fmt.Sprintf("SELECT file FROM glob(%s) LIMIT %d", engine.Literal(p), s.MaxFiles+1)
		files, err := tables.Texts(ctx, s.DB, query)
		if err != nil {
			return out, fault.FromDuckDB(err)
		}
		out.Found = append(out.Found, files...)
	}
	switch n := len(out.Found); {
	case n == 0:
		return out, fault.New("from", "", "no file matches %q", patterns[0]).Retryable()
	case n > s.MaxFiles:
		return out, fault.New("from", "name fewer files", "%q matches more than %d files", patterns[0], s.MaxFiles)
	}
	for _, f := range out.Found {
		if err := s.Roots.CheckFrom(s.d.From, f); err != nil {
			return out, err
		}
		if info, err := os.Stat(f); err == nil {
			out.Bytes += info.Size()
		}
	}
	return out, nil
}

// folder returns the files of one format in a folder, at any depth.
func (s *fileSource) folder(ctx context.Context, dir string) (fileformat.Files, error) {
	wanted := ""
	if s.d.Params.Has("file_extension") {
		text, err := s.d.Params.String("file_extension")
		if err != nil {
			return fileformat.Files{}, err
		}
		wanted = "." + strings.TrimPrefix(strings.ToLower(text), ".")
		if strings.ContainsAny(wanted, "*?[/\\") {
			return fileformat.Files{},
				fault.New("params.file_extension", "write an extension such as csv", "%q is not an extension", text)
		}
	}
	everything, hidden := []string{"**"}, !s.reader.Documents("")
	all, err := s.list(ctx, dir, everything, hidden)
	if err != nil {
		return fileformat.Files{}, err
	}
	if len(all) == 0 {
		return fileformat.Files{}, fault.New("from", "", "no file matches %q", filepath.Join(dir, "**")).Retryable()
	}
	patterns, err := s.reader.Patterns(dir, names(all), wanted)
	if err != nil {
		return fileformat.Files{}, err
	}
	if !s.reader.Documents(patterns[0]) {
		files, err := s.glob(ctx, patterns)
		files.Base = dir + string(filepath.Separator)
		return files, err
	}
	if hidden { // the format was not known
		if all, err = s.list(ctx, dir, everything, false); err != nil {
			return fileformat.Files{}, err
		}
	}
	files := documents(all, patterns)
	files.Base = dir + string(filepath.Separator)
	files.Ignored = s.reader.Ignored(files.Base, names(all))
	if len(files.Listed) == 0 {
		return files, fault.New("from", "", "folder %q has hidden documents only", dir).Retryable()
	}
	return files, nil
}
