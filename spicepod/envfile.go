package spicepod

import (
	"errors"
	"fmt"
	"strings"

	"github.com/joho/godotenv"
)

// Variables returns the variables of the text of a .env file. The error does not show it.
func Variables(text string) (map[string]string, error) {
	values, err := godotenv.Unmarshal(strings.TrimPrefix(text, "\uFEFF"))
	if err != nil {
		return nil, fmt.Errorf("line %d is not KEY=value", brokenEnvLine(text))
	}
	return values, nil
}

// AddVariable returns the text of a .env file with one more variable, at its end. The
// error does not show the value.
func AddVariable(text, name, value string) (string, error) {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	escaped := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "$", `\$`).Replace(value)
	for _, quoted := range []string{value, "'" + value + "'", `"` + escaped + `"`} {
		added := text + name + "=" + quoted + "\n"
		if values, err := godotenv.Unmarshal(added); err == nil && values[name] == value &&
			(quoted != value || isPlainVariable(value)) {
			return added, nil
		}
	}
	return "", errors.New("the value cannot be written to a .env file")
}

// isPlainVariable reports whether a value needs no quotes for any reader of .env files.
func isPlainVariable(value string) bool {
	return value != "" && strings.Trim(value,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./:@%") == ""
}
