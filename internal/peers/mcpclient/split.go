package mcpclient

import (
	"errors"
	"fmt"
	"strings"
)

// splitArgs splits a command line at white space. Text in single quotes is
// literal; in double quotes, \" is " and \\ is \. Elsewhere a backslash is
// literal, as in Windows paths.
func splitArgs(line string) ([]string, error) {
	var args []string
	var arg strings.Builder
	var quote rune
	began, escaped := false, false
	for _, r := range line {
		switch {
		case escaped:
			if r != '"' && r != '\\' {
				arg.WriteByte('\\')
			}
			arg.WriteRune(r)
			escaped = false
		case quote == '"' && r == '\\':
			escaped = true
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, began = r, true
		case quote == 0 && strings.ContainsRune(" \t\r\n", r):
			if began {
				args = append(args, arg.String())
			}
			arg.Reset()
			began = false
		case r == 0:
			return nil, errors.New("it holds the character NUL")
		default:
			arg.WriteRune(r)
			began = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("a quote, %c, is not closed", quote)
	}
	if began {
		args = append(args, arg.String())
	}
	return args, nil
}
