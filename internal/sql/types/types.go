// Package types has the one table of types: the names by which a Spicepod may call
// each, and its form in DuckDB, Arrow, JSON Schema and PostgreSQL. docs/types.md is
// written from it.
//
//	types.Named("bigint").Type.String() // BIGINT
//	types.Of(&engine.Type{ID: engine.UUID}).OID
package types

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// Info is one type of the table, or one form of types with parameters.
type Info struct {
	// Type is DuckDB's type; of a form with parameters only its ID is meant.
	Type engine.Type
	// Names are the lower-case names that a Spicepod may use, the recommended one first;
	// of a form with parameters, the words before them.
	Names []string
	// Arrow is the type of Arrow in results; nil: it depends on the parameters.
	Arrow arrow.DataType
	// Foreign says that Arrow has no such type, so that Arrow is that of another.
	Foreign bool
	// OID is PostgreSQL's type of a column.
	OID uint32
	// Argument and Result are the JSON Schemas of a value as the argument and as the result
	// of a tool; nil for forms with parameters. They must not be modified.
	Argument, Result map[string]any
	// Form is how a form with parameters is written.
	Form string
	// Example is a value as JSON, for Form if there is one.
	Example string
}

// Of returns the entry of a type. Every type that a result may have has one.
func Of(t *engine.Type) *Info {
	if t.ID == engine.Varchar && t.JSON {
		return jsonInfo
	}
	return byID[t.ID]
}

// Named returns the entry of a type without parameters by its lower-case name, or nil.
func Named(name string) *Info { return byName[name] }

// Form returns the entry of the form of types with parameters by the lower-case word
// before them, or nil.
func Form(word string) *Info { return forms[word] }

// Words returns every name and every word of a form, sorted.
func Words() []string { return words }

// All returns the table in the order of its documentation. It must not be modified.
func All() []Info { return table }

var (
	byID     = map[engine.TypeID]*Info{}
	byName   = map[string]*Info{}
	forms    = map[string]*Info{}
	jsonInfo *Info
	words    = index()
)

// index fills the maps and returns all words.
func index() (all []string) {
	for i := range table {
		t := &table[i]
		switch {
		case t.Type.JSON:
			jsonInfo = t
		case byID[t.Type.ID] == nil:
			byID[t.Type.ID] = t
		}
		names := byName
		if t.Form != "" {
			names = forms
		}
		for _, name := range t.Names {
			names[name] = t
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// arrowNames are Arrow's display names of the types without parameters.
var arrowNames = map[arrow.Type]string{
	arrow.NULL: "Null", arrow.BOOL: "Boolean",
	arrow.INT8: "Int8", arrow.INT16: "Int16", arrow.INT32: "Int32", arrow.INT64: "Int64",
	arrow.UINT8: "UInt8", arrow.UINT16: "UInt16", arrow.UINT32: "UInt32", arrow.UINT64: "UInt64",
	arrow.FLOAT32: "Float32", arrow.FLOAT64: "Float64", arrow.STRING: "Utf8", arrow.BINARY: "Binary",
	arrow.DATE32: "Date32", arrow.INTERVAL_MONTH_DAY_NANO: "Interval(MonthDayNano)",
}

// Spellings are Arrow's display names of types that share DuckDB's type with another, by
// their name.
var Spellings = map[string]string{
	"large_utf8": "LargeUtf8", "largeutf8": "LargeUtf8", "utf8view": "Utf8View",
	"large_binary": "LargeBinary", "largebinary": "LargeBinary", "binaryview": "BinaryView", "date64": "Date64",
}

// ArrowName returns the display name of a type of the table in Arrow's Rust library and
// Spice, such as Timestamp(Microsecond, None).
func ArrowName(dt arrow.DataType) string {
	if name, ok := arrowNames[dt.ID()]; ok {
		return name
	}
	switch dt := dt.(type) {
	case *arrow.Decimal128Type:
		return fmt.Sprintf("Decimal128(%d, %d)", dt.Precision, dt.Scale)
	case *arrow.Decimal256Type:
		return fmt.Sprintf("Decimal256(%d, %d)", dt.Precision, dt.Scale)
	case *arrow.Time64Type:
		return "Time64(" + UnitName(dt.Unit) + ")"
	case *arrow.TimestampType:
		if dt.TimeZone == "" {
			return "Timestamp(" + UnitName(dt.Unit) + ", None)"
		}
		return fmt.Sprintf("Timestamp(%s, Some(%q))", UnitName(dt.Unit), dt.TimeZone)
	}
	return dt.Name()
}

// UnitName is the name of a unit of time in Arrow's Rust library.
func UnitName(u arrow.TimeUnit) string {
	return [...]string{"Second", "Millisecond", "Microsecond", "Nanosecond"}[u]
}
