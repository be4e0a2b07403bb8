package runtime

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/data/documents"
	"github.com/spiced-sql/spiced/internal/test/doctest"
)

// startReaders starts workers that read documents.
func startReaders(t *testing.T, cpu time.Duration) documents.Workers {
	t.Helper()
	open := openDocuments([]string{os.Args[0], documentCommand}, []string{os.Args[0]}, t.TempDir(), slog.New(slog.DiscardHandler))
	w, err := open(cpu)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

// A document beyond the limit of processor time, or whose caller is gone, costs itself alone. That
// of hostile documents is tested with the program: the race detector needs more memory than workers have.
func TestDocumentTimeLimitAndCancellation(t *testing.T) {
	w := startReaders(t, 100*time.Millisecond)
	d, err := w.Read(t.Context(), "a.pdf", doctest.PDF(doctest.Page("x")).Bytes(), documents.Options{})
	if err != nil || !strings.Contains(d.Metadata.Error, "params.document_timeout is the limit") {
		t.Errorf("beyond the time: %v, %v", d, err) // the compilation of pdfium alone takes longer
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Read(ctx, "a.txt", []byte("x"), documents.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if d, err := w.Read(t.Context(), "a.txt", []byte("x"), documents.Options{}); err != nil || d.Content != "x" {
		t.Errorf("after: %v, %v", d, err)
	}
}
