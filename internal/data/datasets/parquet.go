package datasets

import "github.com/spiced-sql/spiced/spicepod"

// Parquet files.

var parquetFormat = &format{
	name: "parquet", reader: "read_parquet", prefixes: []string{"parquet_"}, extensions: []string{".parquet", ".pq"},
	mediaTypes: []string{"application/vnd.apache.parquet", "application/parquet", "application/x-parquet"},
	options:    withCommon(map[string]spicepod.ParamType{"binary_as_string": spicepod.ParamBool, "file_row_number": spicepod.ParamBool}),
}
