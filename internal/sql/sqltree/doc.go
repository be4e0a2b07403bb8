// Package sqltree decodes DuckDB's own parse tree of a statement.
//
// DuckDB's json_serialize_sql renders a SELECT as a tree. [Parse] decodes that
// tree and [Statement] lists what the statement names: relations, function
// calls with their arguments, columns, parameters. Package engine decides what
// may run, based on these facts. [Scan] splits SQL text into tokens, so that a
// call in the tree can be located, and edited, in the text the user wrote.
//
//	st, err := sqltree.Parse(tree, sqltree.Options{}) // tree: json_serialize_sql(text)
//	for _, c := range st.Calls {
//		fmt.Println(c.Name, c.Offset, len(c.Args))
//	}
//	for _, r := range st.Relations {                 // CTEs are resolved, not listed
//		fmt.Println(r.Schema, r.Name)
//	}
//
// Offsets are bytes from the start of the statement's text; -1 is unknown.
package sqltree
