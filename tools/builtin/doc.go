// Package builtin is the tools that the runtime brings, one file each: SQL,
// what there is to query, samples, search over rows, the declared functions,
// readiness and the time. It owns what they take and give, and which datasets
// a caller may read through them.
//
//	env := builtin.Env{
//		SQL: db, Datasets: datasets, Functions: set, Readiness: readiness, Now: time.Now,
//		Generation: generation, Indexes: builtin.NewIndexes(),
//	}
//	domains, err := builtin.Domains(pod.Runtime.Tools.Domains, os.Getenv(builtin.DomainsVariable))
//	all, err := builtin.Load(env, domains)
//	for _, entry := range pod.Tools {
//		if entry.Builtin() != "" {
//			tool, err := builtin.Customise(env, entry)
//		}
//	}
//
// Results that are rows are JSON arrays of objects, encoded as package format
// encodes them for /v1/sql. A caller with a list of datasets ([tools.Scope])
// finds, reads and searches those alone; any other dataset is as if it were
// not there, and so are the tables of schema spiced.
package builtin
