package lake

import (
	"github.com/spiced-sql/spiced/internal/data/source"
)

// Delta is the connector of tables of Delta Lake.
var Delta = source.Kind{
	Names: []string{"delta_lake"}, Params: deltaFormat.params, Extension: deltaFormat.extension, Root: "s3://",
	From: "`delta_lake:folder`, `delta_lake:s3://bucket/table/`, `delta_lake:abfss://container@account/table/`",
	About: "a table of Delta Lake, in a folder below `runtime.data_roots`, in a store with the API of S3 or " +
		"in Azure Storage",
	Note: "Each statement reads the newest version of the table. Only files in the folder of the table are read: its " +
		"log must not name others.",
	Open: deltaFormat.open,
}

// Iceberg is the connector of tables of Iceberg.
var Iceberg = source.Kind{
	Names: []string{"iceberg"}, Params: icebergFormat.params, Extension: icebergFormat.extension, Root: "s3://",
	From: "`iceberg:folder`, `iceberg:file:///folder`, `iceberg:s3://bucket/table/`, " +
		"`iceberg:abfss://container@account/table/`",
	About: "a table of Iceberg, in a folder below `runtime.data_roots`, in a store with the API of S3 or in " +
		"Azure Storage",
	Note: "Each statement reads the newest metadata file in the folder `metadata`. Where the table is written through " +
		"a catalog, such as REST or Glue, that may be one " +
		"that the catalog does not have, after a commit that failed; catalogs are not served. Only files in the folder " +
		"of the table are read, whatever it names.",
	Open: icebergFormat.open,
}
