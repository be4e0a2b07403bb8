package objects

import (
	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/internal/data/source/fileformat"
	"github.com/spiced-sql/spiced/internal/data/source/objectstore"
)

// Azure is the connector of Azure Storage.
var Azure = source.Kind{
	Names: []string{"abfs", "abfss"}, Params: azure.params, URL: true, Extension: objectstore.Extension, Root: "s3://",
	From: "`abfs://container/folder/` with `params.abfs_account`, " +
		"`abfs://container@account.dfs.core.windows.net/folder/*.csv`",
	About: "as `s3`, of Azure Blob Storage and Azure Data Lake Storage (Gen2)",
	Note: fileformat.Note +
		" One of the access key, the SAS, the bearer token, the client secret and `abfs_skip_signature` " +
		"is needed. Managed identities, the tokens of the Azure CLI and of Kubernetes, " +
		"and proxies by params are not served; a proxy of the environment is used. The tests have Azurite " +
		"in place of Azure.",
	Open: azure.open,
}

// GCS is the connector of Google Cloud Storage. It uses the API for clients of S3, with
// HMAC keys: https://cloud.google.com/storage/docs/interoperability.
var GCS = source.Kind{
	Names: []string{"gs"}, Params: gcs.params, URL: true, Extension: objectstore.Extension, Root: "gs://",
	From:  "`gs://bucket/folder/`, `gs://bucket/folder/*.csv`, `gs://bucket/file.parquet`",
	About: "as `s3`, of Google Cloud Storage",
	Note: fileformat.Note +
		" `gcs_key` and `gcs_secret` are an HMAC key of Cloud Storage; service accounts by their JSON " +
		"files are not served. Two datasets that read from one folder must have equal params.",
	Open: gcs.open,
}

// S3 is the connector of S3 and of stores with its API.
var S3 = source.Kind{
	Names: []string{"s3"}, Params: s3.params, URL: true, Extension: objectstore.Extension, Root: "s3://",
	From: "`s3://bucket/folder/`, `s3://bucket/folder/*.csv`, `s3://bucket/file.parquet`",
	About: "an object, objects by pattern, or those of one format in a folder, of S3 or a store like " +
		"it; each statement " +
		"lists them and reads the parts that it needs",
	Note: fileformat.Note +
		" Two datasets that read from one folder must have equal params.",
	Open: s3.open,
}
