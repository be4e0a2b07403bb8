// Package builtin has the built-in tools, one file each: SQL, lists of
// datasets, samples, search over rows, the declared functions, readiness and
// the time. It owns their arguments and results, and which datasets a caller
// may read through them.
//
//	env := builtin.Env{
//		SQL: db, Datasets: datasets, Functions: set, Readiness: readiness, Now: time.Now,
//		Search: search,
//	}
//	domains, err := builtin.Domains(pod.Runtime.Tools.Domains, os.Getenv(builtin.DomainsVariable))
//	all, err := builtin.Load(env, domains)
//	for _, entry := range pod.Tools {
//		if entry.Builtin() != "" {
//			tool, err := builtin.Customise(env, entry, pod.Runtime.Tools.Documents, "spicepod.yaml:12")
//		}
//	}
//
// Rows are JSON arrays of objects, encoded by package format as for /v1/sql. A
// caller with a list of datasets ([tools.Scope]) can find, read and search only
// those; other datasets, and the tables of schema spiced, do not exist for it.
package builtin
