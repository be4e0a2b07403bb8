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
		files, err := s.glob(ctx, []string{path})
		files.Base = path[:strings.LastIndexByte(path[:strings.IndexAny(path, "*?[")], filepath.Separator)+1]
		return files, err
	case errors.Is(err, fs.ErrNotExist):
		return fileformat.Files{}, source.MissingFile(path)
	}
	var reason *fs.PathError
	if errors.As(err, &reason) {
		err = reason.Err
	}
	return fileformat.Files{}, fault.New("from", "", "cannot read %q: %s", path, err).Retryable()
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
	all, err := s.glob(ctx, []string{filepath.Join(fileformat.EscapeGlob(dir), "**")})
	if err != nil {
		return all, err
	}
	patterns, err := s.reader.Patterns(dir, all.Found, wanted)
	if err != nil {
		return all, err
	}
	files, err := s.glob(ctx, patterns)
	files.Base, files.Ignored = dir+string(filepath.Separator), s.reader.Ignored(all.Found)
	return files, err
}
