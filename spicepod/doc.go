// Package spicepod reads a Spicepod: the YAML file that declares datasets,
// views, functions and the rest of what spiced serves.
//
// It owns the types of the file, their defaults, the position of every value in the
// text, the problems of a file ([Problems]), how the params of an entry are read
// ([Entry]), `ref:` entries, environment and secret references, and the published
// JSON Schema. It knows nothing about SQL, DuckDB or HTTP, and imports
// no packages of this module except the kit.
//
//	pod, err := spicepod.Load("path/to/project")
//	var problems spicepod.Problems
//	if errors.As(err, &problems) {
//		problems.WriteText(os.Stderr) // all problems at once, each with a caret
//		return err
//	}
//	for _, f := range pod.Functions {
//		fmt.Println(f.Name, f.Kind, f.Body)
//	}
//	// A problem found later, in the SQL of the third function, at byte 12 of the body:
//	p := pod.TextProblem("functions[2].body", 12, "unknown column \"x\"", "declare it under signature.args")
//
// Every type is described once, by its struct tags (see field in fields.go): decoding,
// the unknown-key check, [JSONSchema], [Pod.NotServed] and docs/spicepod.md use the
// same description.
package spicepod
