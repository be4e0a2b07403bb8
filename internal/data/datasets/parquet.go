package datasets

// Parquet files.

var parquetFormat = &format{
	name: "parquet", reader: "read_parquet", prefixes: []string{"parquet_"}, extensions: []string{".parquet", ".pq"},
	mediaTypes: []string{"application/vnd.apache.parquet", "application/parquet", "application/x-parquet"},
	options:    withCommon(map[string]option{"binary_as_string": optBool, "file_row_number": optBool}),
}
