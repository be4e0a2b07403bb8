package builtin

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // the system may have no time zone database

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/tools"
)

// zoneList is the names of the IANA time zone database, a line each, as the
// zoneinfo.zip of Go 1.26 has them.
//
//go:embed zones.txt
var zoneList string

var zones = sync.OnceValue(func() []string { return strings.Fields(zoneList) })

type timeNowArgs struct {
	Timezone string `json:"timezone,omitempty" default:"UTC" doc:"IANA time zone of local, such as Europe/Berlin."`
}

// presentTime is the current time in two zones.
type presentTime struct {
	UTC      string `json:"utc"`
	Local    string `json:"local"`
	Timezone string `json:"timezone"`
	Unix     int64  `json:"unix"` // seconds
}

// newTimeNow returns the tool for the current time in a time zone.
func newTimeNow(env Env, c custom) (tools.Tool, error) {
	def := c.define(tools.Definition{
		Name: "time_now",
		Description: "Returns the current time in UTC, in a time zone and as a Unix timestamp. " +
			"Use it when the local time of a place matters.",
		Returns: json.RawMessage(`{"type":"object","properties":{
			"utc":{"type":"string","format":"date-time"},
			"local":{"type":"string","format":"date-time"},
			"timezone":{"type":"string"},
			"unix":{"type":"integer","description":"Seconds since 1970."}},
			"required":["utc","local","timezone","unix"]}`),
		Tags: []string{"time"},
	})
	now := env.now()
	return tools.Typed(def, func(_ context.Context, a timeNowArgs, _ tools.Input) (presentTime, error) {
		zone, err := location(a.Timezone)
		if err != nil {
			return presentTime{}, err
		}
		t := now()
		return presentTime{t.UTC().Format(instant), t.In(zone).Format(instant), zone.String(), t.Unix()}, nil
	})
}

// location returns the named time zone, ignoring case; "" is UTC.
func location(name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	at := slices.IndexFunc(zones(), func(z string) bool { return strings.EqualFold(z, name) })
	if at < 0 {
		return nil, unknownZone(name)
	}
	zone, err := time.LoadLocation(zones()[at])
	if err != nil {
		return nil, fmt.Errorf("load time zone %q: %w", zones()[at], err)
	}
	return zone, nil
}

// unknownZone suggests zones by full name and by city.
func unknownZone(name string) error {
	err := tools.NewError(errcode.InvalidArguments, fmt.Sprintf("there is no time zone %q", name),
		"give an IANA name such as Europe/Berlin")
	city := strings.ReplaceAll(name, " ", "_")
	cities := make([]string, len(zones()))
	for i, z := range zones() {
		cities[i] = z[strings.LastIndexByte(z, '/')+1:]
	}
	if near := nearest.Name(city, zones()); near != "" {
		err.DidYouMean = []string{near}
	} else if near := nearest.Name(city[strings.LastIndexByte(city, '/')+1:], cities); near != "" {
		err.DidYouMean = []string{zones()[slices.Index(cities, near)]}
	}
	return err
}
