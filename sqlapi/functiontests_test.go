package sqlapi

import (
	"context"
	"testing"
)

type fakeTester struct{}

func (fakeTester) TestFunction(_ context.Context, name string) ([]FunctionTest, error) {
	if name == "pair" {
		return nil, nil
	}
	return []FunctionTest{{Name: name, Passed: true, TookMS: 1}}, nil
}

func TestTestsOfFunctions(t *testing.T) {
	f := serve(t, func(o *Options) {
		o.Tester = fakeTester{}
		o.Keys = keyring(t, someKeys)
	})
	key := []string{"X-API-Key", writeKey}
	f.want(f.send("POST", "/v1/functions/TWICE:test", "", key...), 200, `[{"name":"twice","passed":true,"took_ms":1}]`)
	f.want(f.send("POST", "/v1/functions/pair:test", "", key...), 200, `[]`)
	f.want(f.send("POST", "/v1/functions/twise:test", "", key...), 404, `"code":"function_not_found","hint":"did you mean \"twice\"?"`)
	f.want(f.send("POST", "/v1/functions/twice:test", "", "X-API-Key", readKey), 403, ":rw")
	f.want(f.send("POST", "/v1/functions/twice", "", key...), 404, "route_not_found")
	f.want(f.send("GET", "/v1/functions/twice:test", "", key...), 405, "use POST")
	none := serve(t, nil)
	none.want(none.send("POST", "/v1/functions/twice:test", ""), 404, "not_served")
}
