package sqlapi

import "maps"

// schema is a JSON Schema, of the dialect that OpenAPI 3.1 has.
type schema map[string]any

func typed(name, text string) schema {
	s := schema{"type": name}
	if text != "" {
		s["description"] = text
	}
	return s
}

func text(about string) schema    { return typed("string", about) }
func boolean(about string) schema { return typed("boolean", about) }
func integer(about string) schema { return typed("integer", about) }

func number(about string) schema   { return typed("number", about) }
func anything(about string) schema { return schema{"description": about} }

func listOf(items schema) schema { return schema{"type": "array", "items": items} }

func oneOf(values ...string) schema {
	enum := make([]any, len(values))
	for i, v := range values {
		enum[i] = v
	}
	return schema{"type": "string", "enum": enum}
}

// ref refers to a schema in [schemas].
func ref(name string) schema { return schema{"$ref": "#/components/schemas/" + name} }

// property is a key of an object.
type property struct {
	name     string
	schema   schema
	optional bool
}

func must(name string, s schema) property { return property{name, s, false} }
func may(name string, s schema) property  { return property{name, s, true} }

// object is an object with these keys and no others.
func object(properties ...property) schema {
	all := schema{}
	required := []any{}
	for _, p := range properties {
		all[p.name] = p.schema
		if !p.optional {
			required = append(required, p.name)
		}
	}
	return schema{"type": "object", "properties": all, "required": required, "additionalProperties": false}
}

// schemas are those with a name.
var schemas = together(runtimeSchemas, toolSchemas, embeddingSchemas, chatSchemas)

func together(parts ...map[string]schema) map[string]schema {
	all := map[string]schema{}
	for _, part := range parts {
		maps.Copy(all, part)
	}
	return all
}

var runtimeSchemas = map[string]schema{
	"Error": object(
		must("message", text("What is wrong.")),
		must("code", text("What kind of error it is; see the table of codes.")),
		may("line", integer("Where in the statement, from 1.")),
		may("column", integer("Where in the line, in characters from 1.")),
		may("hint", text("What would be right.")),
		may("problems", listOf(ref("Problem"))),
		may("sql", text("The statement, when a model has written it.")),
	),
	"Problem": object(
		must("file", text("Relative to the Spicepod's folder when below it.")),
		must("line", integer("From 1; 0 is the file as a whole.")),
		must("column", integer("In characters from 1; 0 is the line as a whole.")),
		must("severity", oneOf("error", "warning")),
		may("component", text("Whose fault it is, such as: function f.")),
		may("path", text("The place in the document, such as: functions[2].body.")),
		must("message", text("")),
		may("hint", text("What would be right.")),
		may("source", text("The text of the line.")),
	),
	"Component": object(
		must("name", text("A protocol (http, metrics, …) or a component with problems, such as: function f.")),
		must("endpoint", text("host:port, or N/A.")),
		must("status", oneOf(StatusInitializing, StatusReady, StatusDisabled, StatusError, StatusRefreshing, StatusShuttingDown)),
		may("problems", listOf(ref("Problem"))),
	),
	"Dataset": object(
		must("from", text("As declared; empty for a view.")),
		must("name", text("")),
		must("replication_enabled", boolean("Always false.")),
		must("acceleration_enabled", boolean("")),
		may("status", text("With ?status=true.")),
		may("description", text("")),
		may("rows", integer("Of an accelerated dataset.")),
		may("last_refresh", schema{"type": "string", "format": "date-time"}),
		may("error", text("Why it is not served, or why its last refresh failed.")),
	),
	"Field": object(must("name", text("")), must("type", text("As declared.")), must("duckdb_type", text(""))),
	"Type":  object(must("type", text("As declared.")), must("duckdb_type", text(""))),
	"Function": object(
		must("name", text("")),
		must("kind", oneOf("scalar", "table")),
		must("volatility", oneOf("immutable", "stable", "volatile")),
		must("from", text("Where the body comes from: sql, …")),
		may("description", text("")),
		must("as_tool", boolean("Offered to models.")),
		must("registered_as", listOf(oneOf("sql", "tool"))),
		must("signature", text("To be read.")),
		must("arguments", listOf(ref("Field"))),
		may("tables", listOf(object(must("name", text("")), must("columns", listOf(ref("Field")))))),
		may("returns", ref("Type")),
		may("columns", listOf(ref("Field"))),
		must("checksum", text("Changes with everything that changes what a call gives.")),
	),
	"Spicepod": object(
		must("name", text("")), must("version", text("")),
		must("datasets_count", integer("")), must("models_count", integer("")), must("dependencies_count", integer("")),
		must("functions_count", integer("")), must("views_count", integer("")),
	),
	"Reload": object(
		must("accepted", boolean("Whether a new generation was made.")),
		must("generation", integer("The one that serves now.")),
		must("changed", listOf(text("Components that were rebuilt or removed."))),
		must("problems", listOf(ref("Problem"))),
	),
	"Row": {"type": "object", "description": "A column's name to its value. Columns of the same name are kept apart: x, x:1."},
	"ResultField": object(
		must("name", text("")), must("data_type", schema{"description": "An Arrow type."}), must("nullable", boolean("")),
		must("dict_id", integer("")), must("dict_is_ordered", boolean("")), must("metadata", schema{"type": "object"}),
	),
	"Result": object(
		must("row_count", integer("")),
		must("schema", object(must("fields", listOf(ref("ResultField"))))),
		must("data", listOf(ref("Row"))),
	),
	"SQL": object(
		must("sql", text("One statement.")),
		may("parameters", schema{"type": []any{"array", "object", "null"}, "description": "By position for ? and $1, by name for $name and :name."}),
	),
	"Refresh": object(
		may("refresh_sql", text("Instead of the declared one.")),
		may("refresh_mode", text("Instead of the declared one.")),
		may("refresh_jitter_max", text("A duration such as 10s.")),
	),
	"ActiveQueries": object(
		must("queries", listOf(object(
			must("query_id", text("A UUID, or the X-Request-Id of a chat.")), must("kind", oneOf("statement", "tool_statement", "tool_call", "chat")),
			must("protocol", text("http, postgres, flight, queries; of tool calls also chat, sql, mcp.")), may("name", text("Of the tool or model.")),
			must("sql_preview", text("Without literals; empty for tool calls and chats.")), must("started_at_ms", integer("Milliseconds since 1970.")),
		))),
		must("total_count", integer("")),
	),
	"Query": object(
		must("query_id", text("A UUID.")),
		must("status", oneOf("PENDING", "RUNNING", "SUCCEEDED", "FAILED", "CANCELLED")),
		must("sql_preview", text("The beginning of its text.")), must("created_at", schema{"type": "string", "format": "date-time"}),
		may("error", object(must("error_code", text("")), must("message", text("")))),
		may("manifest", object(
			must("format", text("JSON_ARRAY.")),
			must("schema", object(must("column_count", integer("")), must("columns", listOf(object(
				must("name", text("")), must("type_name", text("Arrow's.")), must("nullable", boolean("")), must("position", integer("From 0.")),
			))))),
			must("total_row_count", integer("")), must("total_chunk_count", integer("")), must("ref", text("The name of the stored result.")),
		)),
		may("result", ref("QueryChunk")),
	),
	"QueryChunk": object(
		must("chunk_index", integer("From 0.")), must("row_offset", integer("")), must("row_count", integer("")),
		may("next_chunk_index", integer("")), may("next_chunk_url", text("")), must("data_array", listOf(ref("Row"))),
	),
	"Queries": object(must("queries", listOf(ref("Query"))), must("total_count", integer(""))),
	"KeptResults": object(must("results", listOf(object(
		must("ref", text("")), must("rows", integer("")), must("bytes", integer("")),
		must("columns", listOf(object(must("name", text("")), must("type", text("DuckDB's."))))),
		must("created_at", schema{"type": "string", "format": "date-time"}), must("expires_at", schema{"type": "string", "format": "date-time"}),
	)))),
	"QueryStatus": object(must("query_id", text("")), must("status", text(""))),
	"Message":     object(must("message", text(""))),
}
