// Package repl is `spiced sql`: statements and commands from a terminal, a
// script or the command line, sent to POST /v1/sql.
//
// It knows the server only by HTTP. The embedded mode hands it a client whose
// transport calls the handler inside the process, so both modes are one way.
//
//	err := repl.Run(ctx, repl.Options{
//		URL: "http://127.0.0.1:8090",
//		In:  os.Stdin, Out: os.Stdout, Err: os.Stderr,
//	})
//	var failed *repl.StatementError
//	if errors.As(err, &failed) {
//		failed.WriteText(os.Stderr) // the place in the script, the line, a caret
//	}
//
// A statement ends with a semicolon outside of literals and comments (split.go).
// A line that starts with \ or . where no statement is pending is a command of
// our own (commands.go).
package repl
