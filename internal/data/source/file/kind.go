package file

import (
	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/internal/data/source/fileformat"
)

// Kind is the connector.
var Kind = source.Kind{
	Names: []string{"file"}, Params: knownParams, Paths: true,
	From: "`file:trips.csv`, `file:trips/*.parquet`, `file:folder/`",
	About: "a file, files by pattern, or a folder of files of one format, below `runtime.data_roots`; relative paths " +
		"start at the folder of the Spicepod. `.gz` and `.zst` are read, too",
	Note: fileformat.Note,
	Open: func(h source.Host) source.Connector { return &connector{h} },
}
