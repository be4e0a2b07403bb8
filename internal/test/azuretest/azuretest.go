// Package azuretest starts Azurite for tests, Microsoft's stand-in for Azure Storage, which
// checks keys and signatures. A test skips without it.
//
//	server := azuretest.Start(t)
//	server.Container("lake")
//	server.Put("lake", "trips/a.csv", "id\n1\n")
package azuretest

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"

	"github.com/spiced-sql/spiced/internal/test/clients"
	"github.com/spiced-sql/spiced/internal/test/program"
	"github.com/spiced-sql/spiced/internal/test/reserve"
)

// Account is the account of the servers, and Key its access key.
const (
	Account = "lakehouse"
	Key     = "c3BpY2VkIHRlc3RzIG9mIGEgc3RvcmFnZSBhY2NvdW50"
)

// Server is a Blob service: URL is that of the account, at Address.
type Server struct {
	URL, Address string

	t       testing.TB
	process *program.Process
	client  *azblob.Client
}

// Start starts a server that ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	azurite := clients.Find(t, "AZURE STORAGE", "azurite/node_modules/.bin/azurite-blob")
	s := &Server{t: t, Address: reserve.Address(t)}
	s.URL = "http://" + s.Address + "/" + Account
	c := exec.Command(azurite, "--blobHost", "127.0.0.1", "--blobPort", strconv.Itoa(reserve.Port(s.Address)), "--inMemoryPersistence", "--disableTelemetry",
		"--skipApiVersionCheck", "--silent")
	c.Env = append(os.Environ(), "AZURITE_ACCOUNTS="+Account+":"+Key)
	s.process = program.Start(t, c, program.Listens(s.Address))
	t.Cleanup(s.Stop)
	key, err := azblob.NewSharedKeyCredential(Account, Key)
	if err == nil {
		s.client, err = azblob.NewClientWithSharedKeyCredential(s.URL, key,
			&azblob.ClientOptions{ClientOptions: policy.ClientOptions{Telemetry: policy.TelemetryOptions{Disabled: true}}})
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Stop ends the server.
func (s *Server) Stop() { s.process.End(syscall.SIGKILL) }

// Container makes a container.
func (s *Server) Container(name string) {
	s.t.Helper()
	s.check(s.client.CreateContainer(context.Background(), name, nil))
}

// Public makes a container that is read without a key.
func (s *Server) Public(name string) {
	s.t.Helper()
	access := container.PublicAccessTypeContainer
	s.check(s.client.CreateContainer(context.Background(), name, &container.CreateOptions{Access: &access}))
}

// Put writes an object.
func (s *Server) Put(container, key, text string) {
	s.t.Helper()
	s.check(s.client.UploadBuffer(context.Background(), container, key, []byte(text), nil))
}

// PutFolder writes a folder, as accounts with a hierarchical namespace have it.
func (s *Server) PutFolder(container, key string) {
	s.t.Helper()
	yes := "true"
	s.check(s.client.UploadBuffer(context.Background(), container, key, nil, &blockblob.UploadBufferOptions{Metadata: map[string]*string{"hdi_isfolder": &yes}}))
}

// Remove removes an object.
func (s *Server) Remove(container, key string) {
	s.t.Helper()
	s.check(s.client.DeleteBlob(context.Background(), container, key, nil))
}

// SAS returns a shared access signature for a container.
func (s *Server) SAS(container string, permissions sas.ContainerPermissions, until time.Time) string {
	s.t.Helper()
	url, err := s.client.ServiceClient().NewContainerClient(container).GetSASURL(permissions, until, nil)
	s.check(nil, err)
	_, text, _ := bytes.Cut([]byte(url), []byte("?"))
	return string(text)
}

func (s *Server) check(_ any, err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}
