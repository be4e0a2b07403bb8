// Package repl is `spiced sql`: it sends statements and commands from a
// terminal, a script or the command line to POST /v1/sql.
//
// It uses the server only over HTTP. The embedded mode passes a client whose
// transport calls the handler in the process, so both modes use the same code.
//
//	err := repl.Run(ctx, repl.Options{
//		URL: "http://127.0.0.1:8090",
//		In:  os.Stdin, Out: os.Stdout, Err: os.Stderr,
//	})
//	var failed *repl.StatementError
//	if errors.As(err, &failed) {
//		failed.WriteText(os.Stderr) // the position in the script, the line, a caret
//	}
//
// A statement ends with a semicolon outside literals and comments (split.go). A
// line that starts with \ or . while no statement is pending is a command of
// the session (commands.go).
package repl
