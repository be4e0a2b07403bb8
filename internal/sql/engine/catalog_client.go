package engine

// ClientCatalog is a schema of tables, views and macros with what the clients of a protocol ask
// about a database, such as the catalog of PostgreSQL. A runtime makes it once, after its own
// tables.
type ClientCatalog struct {
	Schema    string
	Setup     []string   // SQL statements; the first makes the schema
	Relations []Relation // that statements may read
	// Own is the table that only the process with the tables of schema spiced can make;
	// another one needs its rows.
	Own Relation
	// Object returns the table, view or macro of a folded name, for a process that makes only
	// what its statements need; nil: there is none.
	Object func(name string) *ClientObject
}

// ClientObject is a table, view or macro of a [ClientCatalog].
type ClientObject struct {
	Create []string   // SQL statements, after those of Uses
	Uses   []Relation // objects, by their folded names, and tables of [System]
}
