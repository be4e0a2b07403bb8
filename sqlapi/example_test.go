package sqlapi_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/query"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/sqlapi"
)

// inventory is a runtime without datasets and functions.
type inventory struct{}

func (inventory) Ready() bool                               { return true }
func (inventory) SearchIndexes() []sqlapi.SearchIndex       { return nil }
func (inventory) Generation() uint64                        { return 1 }
func (inventory) Components() []sqlapi.Component            { return nil }
func (inventory) Problems() spicepod.Problems               { return nil }
func (inventory) Datasets() []sqlapi.Dataset                { return nil }
func (inventory) Functions(caller.Caller) []sqlapi.Function { return nil }
func (inventory) Spicepods() []sqlapi.Spicepod              { return nil }

func Example() {
	db, err := engine.Open(context.Background(), engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	discard := slog.New(slog.DiscardHandler)
	api := sqlapi.New(sqlapi.Options{
		Queries: query.New(query.Options{DB: db}),
		Runtime: sqlapi.Runtime{Inventory: inventory{}},
		Log:     discard,
	})
	defer api.Close()
	server := sqlapi.NewServer(api, discard) // server.Serve(listener) serves it
	answer := httptest.NewRecorder()
	server.Handler.ServeHTTP(answer, httptest.NewRequest("POST", "/v1/sql", strings.NewReader("SELECT 40 + 2 AS answer")))
	fmt.Println(answer.Code, answer.Body)
	// Output: 200 [{"answer":42}]
}

// A page of another site cannot reach a handler on a developer's machine.
func ExampleGuard_Protect() {
	guard := sqlapi.Guard{AllowedOrigins: []string{"https://app.example"}}
	protected := guard.Protect(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "metrics\n")
	}))
	for _, origin := range []string{"https://app.example", "https://other.example"} {
		request := httptest.NewRequest("GET", "http://127.0.0.1:9090/metrics", nil)
		request.Header.Set("Origin", origin)
		answer := httptest.NewRecorder()
		protected.ServeHTTP(answer, request)
		fmt.Print(answer.Code, " ", answer.Body)
	}
	// Output:
	// 200 metrics
	// 403 requests from pages of other sites are not served; runtime.cors can allow them
}
