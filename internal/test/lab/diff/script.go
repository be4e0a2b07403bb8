package diff

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// record is a statement or a query of a sqllogictest file.
type record struct {
	line    int
	query   bool   // rows are expected
	fails   bool   // an error is expected
	sql     string // with the variables of loops replaced
	ordered bool   // the rows are compared in their order
}

// script reads a file of DuckDB's sqllogictest format:
//
//	statement ok|error|maybe
//	query <types> [nosort|rowsort|valuesort] [label]
//	loop <variable> <from> <to>, foreach <variable> <value>…, endloop
//	require <what>, skipif|onlyif <engine>, mode skip|unskip, halt
//
// Expected results, which may be a hash, are passed over: plain DuckDB gives them.
type script struct {
	lines   []string
	at      int
	records []record
	skipped string // why the rest of the file is not read
}

// parseScript returns the records of a file, up to what cannot be run here.
func parseScript(text string) *script {
	s := &script{lines: strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")}
	s.block(nil, len(s.lines))
	return s
}

// mostRecords is how many records the loops of a file may make.
const mostRecords = 5_000

// block reads lines up to an end, with the variables of the loops around them.
func (s *script) block(variables []string, end int) {
	skip, omit := false, false // by mode; the next record
	for s.at < end && s.skipped == "" {
		line := strings.TrimSpace(s.lines[s.at])
		words := strings.Fields(line)
		s.at++
		if len(words) == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		switch words[0] {
		case "statement", "query":
			r := s.record(words, variables)
			if !skip && !omit {
				s.records = append(s.records, r)
			}
			omit = false
		case "loop", "foreach":
			s.loop(words, variables)
		case "skipif":
			omit = omit || slices.Contains(words[1:], "duckdb")
		case "onlyif":
			omit = omit || !slices.Contains(words[1:], "duckdb")
		case "mode":
			if slices.Contains(words, "skip") {
				skip = true
			} else if slices.Contains(words, "unskip") {
				skip = false
			}
		case "require":
			s.require(words)
		case "hash-threshold", "endloop", "tags":
		default: // halt, load, restart, concurrentloop, …
			s.skipped = words[0]
		}
		if len(s.records) > mostRecords {
			s.skipped = "more than " + strconv.Itoa(mostRecords) + " records"
		}
	}
}

// served are what a file may require.
var served = []string{
	"vector_size", "skip_reload", "no_alternative_verify", "json", "icu", "parquet", "core_functions", "notwindows", "notmingw",
	"no_vector_verification", "no_extension_autoloading", "exact_vector_size", "64bit",
}

func (s *script) require(words []string) {
	if len(words) < 2 || !slices.Contains(served, words[1]) {
		s.skipped = strings.Join(words, " ")
	}
}

// record reads the text of a statement, and passes over what is expected.
func (s *script) record(words, variables []string) record {
	r := record{line: s.at, query: words[0] == "query", fails: len(words) > 1 && words[1] == "error"}
	var text []string
	for s.at < len(s.lines) && strings.TrimSpace(s.lines[s.at]) != "" && strings.TrimSpace(s.lines[s.at]) != "----" {
		if !strings.HasPrefix(s.lines[s.at], "#") {
			text = append(text, s.lines[s.at])
		}
		s.at++
	}
	if s.at < len(s.lines) && strings.TrimSpace(s.lines[s.at]) == "----" {
		for s.at < len(s.lines) && strings.TrimSpace(s.lines[s.at]) != "" {
			s.at++
		}
	}
	r.sql = replaceVariables(strings.Join(text, "\n"), variables)
	sorted := len(words) > 2 && (words[2] == "rowsort" || words[2] == "valuesort")
	r.ordered = r.query && !sorted && strings.Contains(strings.ToLower(r.sql), "order by")
	if strings.Contains(r.sql, "__TEST_DIR__") || strings.Contains(r.sql, "__WORKING_DIRECTORY__") || strings.Contains(r.sql, "${") {
		s.skipped = "a file or a variable of the test's environment"
	}
	return r
}

// replaceVariables replaces ${name} by its value; variables are names and values in turn.
func replaceVariables(text string, variables []string) string {
	for pair := range slices.Chunk(variables, 2) {
		text = strings.ReplaceAll(text, "${"+pair[0]+"}", pair[1])
	}
	return text
}

// groups are the values that foreach knows by a name.
var groups = map[string]string{
	"<signed>":            "tinyint smallint integer bigint hugeint",
	"<unsigned>":          "utinyint usmallint uinteger ubigint uhugeint",
	"<integral>":          "tinyint smallint integer bigint hugeint utinyint usmallint uinteger ubigint uhugeint",
	"<numeric>":           "tinyint smallint integer bigint hugeint utinyint usmallint uinteger ubigint uhugeint float double",
	"<alltypes>":          "bool interval varchar tinyint smallint integer bigint hugeint utinyint usmallint uinteger ubigint uhugeint float double",
	"<compression>":       "none uncompressed rle bitpacking dictionary fsst alp alprd",
	"<all_types_columns>": "bool tinyint smallint int bigint hugeint uhugeint utinyint usmallint uint ubigint date time timestamp varchar",
}

// loop reads the lines up to its endloop once for each value.
func (s *script) loop(words, variables []string) {
	first, depth := s.at, 1
	for ; s.at < len(s.lines) && depth > 0; s.at++ {
		switch fields := strings.Fields(s.lines[s.at]); {
		case len(fields) == 0:
		case fields[0] == "loop" || fields[0] == "foreach":
			depth++
		case fields[0] == "endloop":
			depth--
		}
	}
	after := s.at
	values, err := loopValues(words, variables)
	if err != nil || depth > 0 {
		s.skipped = strings.Join(words, " ")
		return
	}
	for _, v := range values {
		s.at = first
		s.block(append(variables[:len(variables):len(variables)], words[1], v), after-1)
	}
	s.at = after
}

// loopValues are the values of the variable of a loop.
func loopValues(words, variables []string) (values []string, err error) {
	if len(words) < 3 {
		return nil, fmt.Errorf("%s has no values", words[0])
	}
	if words[0] == "foreach" {
		for _, w := range words[2:] {
			w = replaceVariables(w, variables)
			if group := groups[strings.ToLower(w)]; group != "" {
				values = append(values, strings.Fields(group)...)
			} else if out, not := strings.CutPrefix(w, "!"); not {
				values = slices.DeleteFunc(values, func(v string) bool { return v == out })
			} else {
				values = append(values, w)
			}
		}
		return values, nil
	}
	if len(words) < 4 {
		return nil, fmt.Errorf("loop has no end")
	}
	from, err := strconv.Atoi(replaceVariables(words[2], variables))
	if err != nil {
		return nil, err
	}
	to, err := strconv.Atoi(replaceVariables(words[3], variables))
	if err != nil || to-from > mostRecords {
		return nil, fmt.Errorf("loop up to %s", words[3])
	}
	for ; from < to; from++ {
		values = append(values, strconv.Itoa(from))
	}
	return values, nil
}
