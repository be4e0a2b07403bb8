package sqlapi

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/spicepod"
)

// fakeSandboxes are two sandboxes, one of which can be built.
type fakeSandboxes struct {
	built bool
	err   error
}

func (f *fakeSandboxes) Sandboxes(who caller.Caller) []Sandbox {
	functions := []string{"haversine_km", "secret"}
	if who.UserID != "ada" {
		functions = slices.Clip(functions[:1])
	}
	full := true
	return []Sandbox{
		{
			Name: "default", Runtime: "python", Dependencies: []string{}, Secrets: []string{}, Checksum: "00", Built: true, Functions: []string{}, Isolation: "required",
			Network: "none",
		},
		{
			Name: "geo", Runtime: "python", Dependencies: []string{"numpy"}, Secrets: []string{"TOKEN"}, Checksum: "01", Built: f.built, Functions: functions,
			Isolation: "required", Isolated: &full, Layers: []string{"Landlock 6", "seccomp"}, MissingLayers: []string{"PID namespaces"}, Network: "none",
		},
	}
}

func (f *fakeSandboxes) BuildSandbox(_ context.Context, name string) error {
	if name == "default" {
		return spicepod.Problems{{Message: "it cannot be built"}}
	}
	f.built = f.err == nil
	return f.err
}

func TestSandboxes(t *testing.T) {
	fake := &fakeSandboxes{}
	f := serveTools(t, func(o *Options) { o.Sandboxes = fake })
	const geo = `{"name":"geo","runtime":"python","dependencies":["numpy"],"secrets":["TOKEN"],"checksum":"01","built":false,"functions":["haversine_km"],"isolation":"required","isolated":true,"layers":["Landlock 6","seccomp"],"missing_layers":["PID namespaces"],"network":"none"}`
	f.want(f.send("GET", "/v1/sandboxes", ""),
		200, `[{"name":"default","runtime":"python","dependencies":[],"secrets":[],"checksum":"00","built":true,"functions":[],"isolation":"required","network":"none"},`+geo+`]`)
	f.want(f.send("GET", "/v1/sandboxes?format=csv", ""), 200,
		"name,runtime,dependencies,secrets,checksum,built,functions,isolation,isolated,layers,missing_layers\n"+
			"default,python,,,00,true,,required,,,\ngeo,python,numpy,TOKEN,01,false,haversine_km,required,true,Landlock 6;seccomp,PID namespaces\n")
	f.want(f.send("GET", "/v1/sandboxes/Geo", ""), 200, geo)
	f.want(f.send("GET", "/v1/sandboxes/geo", "", "X-Spiced-User", "ada"), 200, `"functions":["haversine_km","secret"]`)
	f.want(f.send("GET", "/v1/sandboxes/gep", ""), 404, `{"message":"there is no sandbox \"gep\"","code":"sandbox_not_found","hint":"did you mean \"geo\"?"}`)
	f.want(f.send("POST", "/v1/sandboxes/other/build", ""), 404, `"hint":"GET /v1/sandboxes lists them"`)
	f.want(f.send("POST", "/v1/sandboxes/geo/build", ""), 200, `"built":true`)

	fake.err = spicepod.Problems{{Message: "the packages of sandbox \"geo\" cannot be installed: no", Hint: "check the name", Component: "sandbox geo"}}
	f.want(f.send("POST", "/v1/sandboxes/geo/build", ""), 422,
		`{"message":"the packages of sandbox \"geo\" cannot be installed: no","code":"sandbox_not_built","hint":"check the name","problems":[`)
	fake.err = errors.New("secret path /etc")
	f.want(f.send("POST", "/v1/sandboxes/geo/build", ""), 500, internalErrorMessage)

	xml := f.send("GET", "/v1/tools?format=xml&sandbox=geo", "")
	f.want(xml, 200, "<name>haversine_km</name>")
	if strings.Count(xml.body, "<tool>") != 1 {
		t.Errorf("the prompt of a sandbox has other tools: %s", xml.body)
	}
	f.want(f.send("GET", "/v1/tools?sandbox=default", ""), 200, "[]")
	f.want(f.send("GET", "/v1/tools?view=stats&sandbox=geo", ""), 200, `[{"name":"haversine_km"`)
	f.want(f.send("GET", "/v1/tools?sandbox=nope", ""), 404, `"code":"sandbox_not_found"`)

	none := serveTools(t, nil)
	none.want(none.send("GET", "/v1/sandboxes", ""), 404, "not_served")
	none.want(none.send("GET", "/v1/sandboxes/geo", ""), 404, "not_served")
	none.want(none.send("GET", "/v1/tools?sandbox=geo", ""), 404, "not_served")
}
