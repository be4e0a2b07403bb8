// Package sqltree reads what DuckDB's own parser made of a statement.
//
// DuckDB's json_serialize_sql renders a SELECT as a tree. [Parse] decodes that
// tree and [Statement] says what the statement mentions: relations, function
// calls with their arguments, columns, parameters. Nothing here decides what
// may run; package engine does, on these facts. [Scan] splits SQL text into
// tokens, so that a call found in the tree can be found, and edited, in the
// text the user wrote.
//
//	st, err := sqltree.Parse(tree)            // tree: json_serialize_sql(text)
//	for _, c := range st.Calls {
//		fmt.Println(c.Name, c.Offset, len(c.Args))
//	}
//	for _, r := range st.Relations {          // CTEs are resolved, not listed
//		fmt.Println(r.Schema, r.Name)
//	}
//
// Offsets are bytes from the start of the statement's text; -1 is unknown.
package sqltree
