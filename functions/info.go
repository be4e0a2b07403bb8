package functions

import (
	"github.com/spiced-sql/spiced/spicepod"
)

// FunctionInfo is a function in GET /v1/functions: Spice's fields first.
type FunctionInfo struct {
	Name          string                `json:"name"`
	Kind          spicepod.FunctionKind `json:"kind"`
	Volatility    spicepod.Volatility   `json:"volatility"`
	From          string                `json:"from"`
	Description   string                `json:"description,omitempty"`
	AsTool        bool                  `json:"as_tool"`
	RegisteredAs  []string              `json:"registered_as"`
	Signature     string                `json:"signature"`
	Tables        []TableInfo           `json:"tables,omitempty"`
	Args          []ArgInfo             `json:"args"`
	Returns       string                `json:"returns,omitempty"`
	DuckDBReturns string                `json:"duckdb_returns,omitempty"`
	Columns       []ColumnInfo          `json:"columns,omitempty"`
	Deterministic bool                  `json:"deterministic"`
	DependsOn     []string              `json:"depends_on"`
	Version       string                `json:"version,omitempty"`
	Tags          []string              `json:"tags,omitempty"`
	Checksum      string                `json:"checksum"`
	File          string                `json:"file"`
	Line          int                   `json:"line"`
}

// ArgInfo is an argument in a [FunctionInfo].
type ArgInfo struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	DuckDBType  string `json:"duckdb_type"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required"`
	Default     any    `json:"default,omitempty"`
}

// TableInfo is a table input in a [FunctionInfo].
type TableInfo struct {
	Name    string       `json:"name"`
	Columns []ColumnInfo `json:"columns"`
}

// ColumnInfo is a column of a table input or of a result.
type ColumnInfo struct {
	Name       string `json:"name"`
	Type       string `json:"type"`
	DuckDBType string `json:"duckdb_type"`
}

// Info describes the functions of the set, in the order of the Spicepod.
func Info(set *Set) []FunctionInfo {
	list := make([]FunctionInfo, 0, set.Len())
	for _, f := range set.Declared() {
		list = append(list, f.info())
	}
	return list
}

func (f *Function) info() FunctionInfo {
	d := &f.Declared
	info := FunctionInfo{
		Name: f.Name, Kind: f.Kind, Volatility: f.Volatility, From: d.From, Description: d.Description,
		AsTool: d.AsToolEffective(), RegisteredAs: []string{"sql"}, Signature: f.Signature(), Args: []ArgInfo{},
		Columns: columnInfos(f.Columns), Deterministic: f.Deterministic(), DependsOn: append([]string{}, f.Uses.Functions...),
		Version: d.Version, Tags: d.Tags, Checksum: f.Checksum, File: f.Position.File, Line: f.Position.Line,
	}
	if info.AsTool {
		info.RegisteredAs = append(info.RegisteredAs, "tool")
	}
	if f.Returns != nil {
		info.Returns, info.DuckDBReturns = f.Returns.String(), f.Returns.SQL()
	}
	for _, t := range f.Tables {
		info.Tables = append(info.Tables, TableInfo{t.Name, columnInfos(t.Columns)})
	}
	for i, a := range f.Args {
		arg := d.Signature.Args[i]
		info.Args = append(info.Args, ArgInfo{a.Name, a.Type.String(), a.Type.SQL(), arg.Description, arg.IsRequired(), arg.Default})
	}
	return info
}

func columnInfos(columns []OutputColumn) []ColumnInfo {
	var list []ColumnInfo
	for _, c := range columns {
		list = append(list, ColumnInfo{c.Name, c.Type.String(), c.Type.SQL()})
	}
	return list
}
