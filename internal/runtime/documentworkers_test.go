package runtime

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/data/documents"
	"github.com/spiced-sql/spiced/internal/test/doctest"
	"github.com/spiced-sql/spiced/internal/test/full"
)

// startReaders starts workers that read documents.
func startReaders(t *testing.T, cpu time.Duration) documents.Workers {
	t.Helper()
	open := openDocuments([]string{os.Args[0], documentCommand}, []string{os.Args[0]}, slog.New(slog.DiscardHandler))
	w, err := open(cpu)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

// A document that ends its worker, or is beyond a limit, costs itself alone: others that are
// read at the same time and after it are not affected.
func TestHostileDocumentsCostThemselves(t *testing.T) {
	w := startReaders(t, 20*time.Second)
	good := doctest.PDF(doctest.Page("Gate 4")).Bytes()
	read := func(name string, data []byte) documents.Document {
		d, err := w.Read(t.Context(), name, data, documents.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		return d
	}
	hostile := map[string]string{"laughs.pdf": "reading it "}
	if full.Test() {
		hostile["text.pdf"], hostile["bomb.pdf"], hostile["bomb.docx"] = "reading it ", "reading it ", "more than 256 MB"
	}
	makes := doctest.Hostile(t)
	var tasks sync.WaitGroup
	for name, want := range hostile {
		tasks.Go(func() {
			if d := read(name, makes[name]()); !strings.Contains(d.Metadata.Error, want) || d.Content != "" {
				t.Errorf("%s: %.300v, want %q", name, d, want)
			}
			if d := read("good.pdf", good); d.Content != "Gate 4" {
				t.Errorf("after %s: %v", name, d)
			}
		})
	}
	for range 20 {
		tasks.Go(func() {
			if d := read("good.pdf", good); d.Content != "Gate 4" {
				t.Errorf("next to others: %v", d)
			}
		})
	}
	tasks.Wait()
}

// Documents are read without files, and what reads them ends with its caller.
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
