package pgcatalog

import (
	"fmt"
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// settings are what current_setting and pg_settings tell: what a client needs
// to know of any server, and nothing of this one. Package pgwire's SHOW tells
// the same.
var settings = []struct{ name, value string }{
	{"DateStyle", "ISO, MDY"},
	{"IntervalStyle", "postgres"},
	{"TimeZone", "UTC"},
	{"application_name", ""},
	{"bytea_output", "hex"},
	{"client_encoding", "UTF8"},
	{"client_min_messages", "notice"},
	{"default_table_access_method", "heap"},
	{"default_tablespace", ""},
	{"default_transaction_isolation", "read committed"},
	{"default_transaction_read_only", "off"},
	{"extra_float_digits", "1"},
	{"integer_datetimes", "on"},
	{"is_superuser", "off"},
	{"jit", "off"},
	{"lc_collate", "C"},
	{"lc_ctype", "C.UTF-8"},
	{"lc_messages", "C"},
	{"lock_timeout", "0"},
	{"max_identifier_length", "63"},
	{"max_index_keys", "32"},
	{"search_path", `"$user", public`},
	{"server_encoding", "UTF8"},
	{"server_version", ServerVersion},
	{"server_version_num", "150000"},
	{"standard_conforming_strings", "on"},
	{"statement_timeout", "0"},
	{"transaction_isolation", "read committed"},
	{"transaction_read_only", "off"},
}

// settingOf is the value of the setting whose name is n, or NULL.
var settingOf = func() string {
	var m sqlMap
	for _, s := range settings {
		m.add(engine.Literal(strings.ToLower(s.name)), engine.Literal(s.value))
	}
	return m.String() + "[lower(n)]"
}()

// preset are the settings, of these, that no client can change.
var preset = set("integer_datetimes is_superuser lc_collate lc_ctype max_identifier_length max_index_keys " +
	"server_encoding server_version server_version_num")

// settingsView is pg_settings.
func settingsView() view {
	rows := make([]string, len(settings))
	for i, s := range settings {
		context := "user"
		if preset[s.name] {
			context = "internal"
		}
		rows[i] = fmt.Sprintf("(%s, %s, %s)", engine.Literal(s.name), engine.Literal(s.value), engine.Literal(context))
	}
	return view{
		"pg_settings",
		`SELECT name, setting, NULL::VARCHAR AS unit, CASE context WHEN 'internal' THEN 'Preset Options' ELSE 'Client Connection Defaults' END AS category, '' AS short_desc,
		NULL::VARCHAR AS extra_desc, context, 'string' AS vartype, 'default' AS source, NULL::VARCHAR AS min_val,
		NULL::VARCHAR AS max_val, NULL::VARCHAR[] AS enumvals, setting AS boot_val, setting AS reset_val, NULL::VARCHAR AS sourcefile,
		NULL::INTEGER AS sourceline, false AS pending_restart FROM (VALUES ` + strings.Join(rows, ", ") +
			`) AS s(name, setting, context)`,
	}
}
