package pgwire

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spiced-sql/spiced/internal/protocols/pgwire/sqlstate"
	"github.com/spiced-sql/spiced/internal/protocols/pgwire/wire"
)

// setting is one of PostgreSQL's configuration parameters.
type setting struct {
	name  string // as PostgreSQL spells it
	value string // the default
	fixed bool   // clients cannot set it
	// check returns the value to keep; nil takes any.
	check func(value string) (string, error)
}

// settings are what clients may ask for and set, by folded name. Most have no
// effect: they say how PostgreSQL plans, locks or logs.
var settings = func() map[string]setting {
	all := map[string]setting{}
	for _, s := range []setting{
		{name: "application_name"},
		{name: "bytea_output", value: "hex", check: only("hex")},
		{name: "client_encoding", value: "UTF8", check: checkEncoding},
		{name: "client_min_messages", value: "notice"},
		{name: "DateStyle", value: "ISO, MDY", check: checkDateStyle},
		{name: "default_transaction_deferrable", value: "off", check: checkSwitch},
		{name: "default_transaction_isolation", value: isolation, check: checkIsolation},
		{name: "default_transaction_read_only", value: "off", check: checkSwitch},
		{name: "extra_float_digits", value: "1"},
		{name: "IntervalStyle", value: "postgres", check: only("postgres", isoIntervals)},
		{name: "search_path", value: `"$user", public`},
		{name: "standard_conforming_strings", value: "on", check: only("on")},
		{name: "idle_in_transaction_session_timeout", value: "60000ms", check: checkDuration},
		{name: "statement_timeout", value: "0", check: checkDuration},
		{name: "synchronous_commit", value: "on"},
		{name: "TimeZone", value: "UTC"},
		{name: "transaction_deferrable", value: "off", check: checkSwitch},
		{name: "transaction_isolation", value: isolation, check: checkIsolation},
		{name: "transaction_read_only", value: "off", check: checkSwitch},
		{name: "xmloption", value: "content"},
	} {
		all[strings.ToLower(s.name)] = s
	}
	for _, pair := range [][2]string{
		{"block_size", "8192"},
		{"in_hot_standby", "off"},
		{"integer_datetimes", "on"},
		{"is_superuser", "off"},
		{"lc_collate", "C"},
		{"lc_ctype", "C.UTF-8"},
		{"max_identifier_length", "63"},
		{"max_index_keys", "32"},
		{"server_encoding", "UTF8"},
		{"server_version", ""},
		{"server_version_num", ""},
		{"session_authorization", ""},
		{"wal_level", "replica"},
	} {
		all[pair[0]] = setting{name: pair[0], value: pair[1], fixed: true}
	}
	for name := range strings.FieldsSeq(ineffective) {
		all[name] = setting{name: name}
	}
	return all
}()

const isolation = "read committed"

// ineffective are settings that are stored and have no effect.
const ineffective = `
	array_nulls backslash_quote backend_flush_after check_function_bodies commit_delay constraint_exclusion
	cpu_index_tuple_cost cpu_operator_cost cpu_tuple_cost cursor_tuple_fraction debug_print_plan
	deadlock_timeout default_statistics_target default_table_access_method default_tablespace
	default_text_search_config effective_cache_size effective_io_concurrency enable_async_append
	enable_bitmapscan enable_gathermerge enable_hashagg enable_hashjoin enable_incremental_sort
	enable_indexonlyscan enable_indexscan enable_material enable_memoize enable_mergejoin enable_nestloop
	enable_parallel_append enable_parallel_hash enable_partition_pruning enable_partitionwise_aggregate
	enable_partitionwise_join enable_seqscan enable_sort enable_tidscan escape_string_warning
	force_parallel_mode from_collapse_limit geqo geqo_threshold hash_mem_multiplier
	idle_session_timeout jit join_collapse_limit lc_messages lc_monetary
	lc_numeric lc_time local_preload_libraries lock_timeout log_duration log_error_verbosity
	log_min_duration_statement log_min_error_statement log_min_messages log_statement
	maintenance_work_mem max_parallel_workers max_parallel_workers_per_gather
	min_parallel_table_scan_size parallel_leader_participation parallel_setup_cost parallel_tuple_cost
	password_encryption plan_cache_mode quote_all_identifiers random_page_cost role row_security
	seq_page_cost session_replication_role ssl tcp_keepalives_count tcp_keepalives_idle
	tcp_keepalives_interval tcp_user_timeout temp_buffers temp_tablespaces timezone_abbreviations
	track_activities transaction_timeout transform_null_equals vacuum_cost_delay work_mem xmlbinary`

// reported are the settings that clients get reports of, at the login and after a
// change.
var reported = []string{
	"application_name", "client_encoding", "DateStyle", "default_transaction_read_only", "in_hot_standby",
	"integer_datetimes", "IntervalStyle", "is_superuser", "search_path", "server_encoding", "server_version",
	"session_authorization", "standard_conforming_strings", "TimeZone",
}

// isoIntervals is the IntervalStyle of ISO 8601.
const isoIntervals = "iso_8601"

func only(values ...string) func(string) (string, error) {
	return func(given string) (string, error) {
		for _, value := range values {
			if strings.EqualFold(given, value) {
				return value, nil
			}
		}
		served := strings.Join(values, " or ")
		return "", sqlstate.Errorf(sqlstate.Unsupported, "leave it at "+served, "%q is not served; only %s is", given, served)
	}
}

// checkEncoding takes UTF-8, and SQL_ASCII, which asks for the bytes as they
// are.
func checkEncoding(value string) (string, error) {
	word := strings.Map(func(r rune) rune { // all else is of no account: asyncpg sends 'utf-8', with its quotes
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToUpper(r)
		}
		return -1
	}, value)
	switch word {
	case "UTF8", "UNICODE":
		return "UTF8", nil
	case "SQLASCII":
		return "SQL_ASCII", nil
	}
	return "", sqlstate.Errorf(sqlstate.Value, "use UTF8", "the encoding %q is not served", value)
}

// checkDateStyle takes ISO with any order of day and month, which is an order
// of what other styles show.
func checkDateStyle(value string) (string, error) {
	order := "MDY"
	for word := range strings.SplitSeq(value, ",") {
		switch word = strings.ToUpper(strings.TrimSpace(word)); word {
		case "ISO", "DEFAULT":
		case "MDY", "DMY", "YMD":
			order = word
		case "US", "NONEURO", "NONEUROPEAN":
			order = "MDY"
		case "EURO", "EUROPEAN":
			order = "DMY"
		default:
			return "", sqlstate.Errorf(sqlstate.Value, "use ISO", "the style %q of dates is not served", value)
		}
	}
	return "ISO, " + order, nil
}

func checkSwitch(value string) (string, error) {
	on, err := wire.ParseBool(value)
	if err != nil {
		return "", sqlstate.Errorf(sqlstate.Value, "use on or off", "%q is neither on nor off", value)
	}
	if on == true {
		return "on", nil
	}
	return "off", nil
}

// checkIsolation takes PostgreSQL's levels: a statement sees one generation at
// each.
func checkIsolation(value string) (string, error) {
	level := strings.ToLower(value)
	if slices.Contains([]string{"serializable", "repeatable read", isolation, "read uncommitted"}, level) {
		return level, nil
	}
	return "", sqlstate.Errorf(sqlstate.Value, "use read committed", "there is no isolation level %q", value)
}

// units are those of durations, as PostgreSQL spells them.
var units = map[string]time.Duration{
	"": time.Millisecond, "us": time.Microsecond, "ms": time.Millisecond, "s": time.Second,
	"min": time.Minute, "h": time.Hour, "d": 24 * time.Hour,
}

// longest is the longest duration, as in PostgreSQL.
const longest = math.MaxInt32 * time.Millisecond

// checkDuration takes 1500, which are milliseconds, 1500ms, 2s, 5min, 1h or 1d
// and returns milliseconds.
func checkDuration(value string) (string, error) {
	digits := strings.TrimRight(value, "abcdefghijklmnopqrstuvwxyz ")
	n, err := strconv.ParseInt(digits, 10, 32)
	unit, ok := units[strings.TrimSpace(value[len(digits):])]
	switch {
	case err != nil || n < 0 || !ok:
		return "", sqlstate.Errorf(sqlstate.Value, "write milliseconds, or a unit: 30s", "%q is not a duration", value)
	case n > int64(longest/unit):
		return "", sqlstate.Errorf(sqlstate.Value, "0 is without end", "%q is longer than %d days", value, longest/units["d"])
	}
	return strconv.FormatInt(int64(time.Duration(n)*unit/time.Millisecond), 10) + "ms", nil
}
