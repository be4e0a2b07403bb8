package objectstore

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/spiced-sql/spiced/internal/data/fault"
)

// container returns the client of a bucket, which is a container and what follows it.
func (s *Azure) container(bucket string) *container.Client {
	name, _, _ := strings.Cut(bucket, "@")
	return s.client.NewContainerClient(name)
}

func (s *Azure) get(ctx context.Context, bucket, key string) (io.ReadCloser, error) {
	got, err := s.container(bucket).NewBlobClient(key).DownloadStream(ctx, nil)
	if err != nil {
		return nil, err
	}
	return got.NewRetryReader(ctx, nil), nil
}

// azurePart is the size of the parts of an object.
const azurePart = 16 << 20

// put sends an object in parts, and it is there when the list of these is.
func (s *Azure) put(ctx context.Context, bucket, key string, data io.ReaderAt, size int64) error {
	_, err := s.container(bucket).NewBlockBlobClient(key).UploadStream(ctx, io.NewSectionReader(data, 0, size),
		&blockblob.UploadStreamOptions{BlockSize: azurePart, Concurrency: uploads})
	return err
}

func (s *Azure) remove(ctx context.Context, bucket, key string) error {
	_, err := s.container(bucket).NewBlobClient(key).Delete(ctx, nil)
	if bloberror.HasCode(err, bloberror.BlobNotFound) {
		return nil
	}
	return err
}

// writeFault is Fault of a request that writes.
func (s *Azure) writeFault(err error) *fault.Fault {
	f := s.Fault(err)
	var answer *azcore.ResponseError
	if !errors.As(err, &answer) {
		return f
	}
	for _, code := range azureForbidden {
		if bloberror.Code(answer.ErrorCode) == code {
			return fault.New("params",
				"permit it: the permissions r, l, c, w and d of a SAS, or the role Storage Blob Data Contributor",
				"the storage account %s does not permit the %s to write this", s.account, s.way.noun).Retryable()
		}
	}
	return f
}
