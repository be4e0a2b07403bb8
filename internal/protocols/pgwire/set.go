package pgwire

import (
	"context"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/protocols/pgwire/sqlstate"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// parseSet reads SET [SESSION | LOCAL] name {= | TO} value, and its forms with
// names of their own.
func parseSet(w *words) (*command, error) {
	local := false
	switch {
	case w.Accept("session", "characteristics", "as", "transaction"):
		return w.setModes("default_transaction_", false)
	case w.Accept("transaction"):
		return w.setModes("transaction_", true)
	case w.Accept("session", "authorization"), w.Accept("local", "session", "authorization"):
		return w.setRole("session_authorization")
	case w.Accept("local"):
		local = true
	case w.Accept("session"):
	}
	if w.Accept("role") {
		return w.setRole("role")
	}
	var name string
	var err error
	switch {
	case w.Accept("time", "zone"):
		name = "TimeZone"
	case w.Accept("names"):
		name = "client_encoding"
	default:
		if name, err = w.settingName(); err != nil {
			return nil, err
		}
		if !w.Accept("to") && !w.Accept("=") {
			return nil, w.wrong()
		}
	}
	value, standard, err := w.value()
	if err != nil {
		return nil, err
	}
	return do("SET", func(c *conn) error { return c.set(name, value, standard, local) }), nil
}

// parseSetConfig reads SELECT set_config('name', 'value', is_local), which is SET with a row. As a
// part of another statement the function changes nothing: it returns the value.
func parseSetConfig(w *words) (*command, error) {
	text := func() (string, bool) {
		if w.Done() || w.Tokens[w.Next].Kind != sqltree.String || w.Text(w.Next)[0] != '\'' {
			return "", false
		}
		w.Next++
		return stringValue(w.Text(w.Next - 1)), true
	}
	w.Accept("pg_catalog", ".")
	if !w.Accept("set_config", "(") {
		return nil, nil
	}
	name, named := text()
	if !named || !w.Accept(",") {
		return nil, nil
	}
	value, given := text()
	if !given || !w.Accept(",") {
		return nil, nil
	}
	local := w.Peek() == "true"
	if !w.AcceptOne("true", "false") || !w.Accept(")") {
		return nil, nil
	}
	title := "set_config"
	if w.Accept("as") {
		var err error
		if title, err = w.name(); err != nil {
			return nil, err
		}
	}
	if w.end() != nil {
		return nil, nil
	}
	return &command{tag: "SELECT", columns: []string{title}, run: func(_ context.Context, c *conn) ([]row, error) {
		if local && c.session.tx == txIdle { // its transaction ends here
			return []row{{value}}, nil
		}
		if err := c.set(name, value, false, local); err != nil {
			return nil, err
		}
		return []row{{c.session.value(name)}}, nil
	}}, nil
}

func (w *words) setModes(prefix string, local bool) (*command, error) {
	m, err := w.modes()
	if err != nil {
		return nil, err
	}
	return do("SET", func(c *conn) error {
		if local && c.session.tx == txIdle {
			c.out.send(sqlstate.Notice(sqlstate.NoTransaction, "SET TRANSACTION can only be used in transaction blocks"))
			return nil
		}
		return m.set(c, prefix, local)
	}), nil
}

// setRole accepts the current role only.
func (w *words) setRole(name string) (*command, error) {
	if !w.AcceptOne("none", "default") {
		return nil, sqlstate.Errorf(sqlstate.Unsupported, "connect as another user", "SET %s is not served",
			strings.ToUpper(strings.ReplaceAll(name, "_", " ")))
	}
	return parseSilent("SET")(w)
}

// settingName takes a name, with dots for one of the client's own.
func (w *words) settingName() (string, error) {
	name, err := w.name()
	for err == nil && w.Accept(".") {
		var part string
		part, err = w.name()
		name += "." + part
	}
	return name, err
}

// value takes the rest: words, numbers and strings with commas between. DEFAULT
// is the standard one.
func (w *words) value() (value string, standard bool, err error) {
	if w.Accept("default") {
		return "", true, w.end()
	}
	interval := w.Accept("interval") // of SET TIME ZONE
	var parts []string
	for {
		sign := ""
		if w.Accept("-") {
			sign = "-"
		} else {
			w.Accept("+")
		}
		if w.Done() {
			return "", false, w.wrong()
		}
		t := w.Tokens[w.Next]
		switch t.Kind {
		case sqltree.String:
			parts = append(parts, stringValue(w.Text(w.Next)))
		case sqltree.Ident, sqltree.Number:
			parts = append(parts, sign+w.Text(w.Next))
		case sqltree.QuotedIdent:
			parts = append(parts, w.Text(w.Next))
		default:
			return "", false, w.wrong()
		}
		w.Next++
		if interval && !w.Accept("hour", "to", "minute") {
			w.Accept("hour")
		}
		if !w.Accept(",") {
			return strings.Join(parts, ", "), false, w.end()
		}
	}
}

// stringValue is the value of a literal in quotes.
func stringValue(text string) string {
	text = strings.TrimLeft(text, "eE")
	if len(text) >= 2 && text[0] == '\'' && text[len(text)-1] == '\'' {
		return strings.ReplaceAll(text[1:len(text)-1], "''", "'")
	}
	return text
}

// set gives a setting a value, with a notice where that has no effect.
func (c *conn) set(name, value string, standard, local bool) error {
	if local && c.session.tx == txIdle {
		c.out.send(sqlstate.Notice(sqlstate.NoTransaction, "SET LOCAL can only be used in transaction blocks"))
		return nil
	}
	var err error
	if standard {
		err = c.session.reset(name, local)
	} else {
		err = c.session.set(name, value, local)
	}
	if err != nil {
		return err
	}
	if strings.EqualFold(name, "TimeZone") && !isUTC(c.session.value(name)) {
		c.out.send(sqlstate.Notice(sqlstate.Warning, "times are shown in UTC, whatever TimeZone says"))
	}
	return nil
}

func isUTC(zone string) bool {
	return slices.ContainsFunc([]string{
		"UTC", "GMT", "Etc/UTC", "Zulu", "UCT", "Etc/GMT", "0", "00:00", "+00:00", "local",
		"default",
	}, func(known string) bool {
		return strings.EqualFold(zone, known)
	})
}

func parseReset(w *words) (*command, error) {
	if w.Accept("all") {
		return do("RESET", func(c *conn) error {
			c.session.resetAll()
			return nil
		}), w.end()
	}
	if w.Accept("role") || w.Accept("session", "authorization") {
		return parseSilent("RESET")(w)
	}
	name := "TimeZone"
	if !w.Accept("time", "zone") {
		var err error
		if name, err = w.settingName(); err != nil {
			return nil, err
		}
	}
	if err := w.end(); err != nil {
		return nil, err
	}
	return do("RESET", func(c *conn) error { return c.set(name, "", true, false) }), nil
}

// parseShow reads SHOW name. Of what is no setting the engine knows more, such
// as SHOW TABLES.
func parseShow(w *words) (*command, error) {
	if w.Peek() == "all" && w.Next == len(w.Tokens)-1 {
		return &command{tag: "SHOW", columns: []string{"name", "setting", "description"}, run: showAll}, nil
	}
	var name string
	switch {
	case w.Accept("transaction", "isolation", "level"):
		name = "transaction_isolation"
	case w.Accept("time", "zone"):
		name = "TimeZone"
	case w.Accept("session", "authorization"):
		name = "session_authorization"
	default:
		var err error
		if name, err = w.settingName(); err != nil {
			return nil, err
		}
	}
	known, err := lookup(name)
	if err != nil || w.end() != nil {
		return nil, nil
	}
	return &command{tag: "SHOW", columns: []string{known.name}, run: func(_ context.Context, c *conn) ([]row, error) {
		value := c.session.value(name)
		if strings.Contains(name, ".") && value == "" {
			return nil, sqlstate.Errorf(sqlstate.UnknownSetting, "", "unrecognized configuration parameter %q", name)
		}
		return []row{{value}}, nil
	}}, nil
}

func showAll(_ context.Context, c *conn) ([]row, error) {
	rows := make([]row, 0, len(settings))
	for _, s := range settings {
		rows = append(rows, row{s.name, c.session.value(s.name), ""})
	}
	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(strings.ToLower(a[0]), strings.ToLower(b[0])) })
	return rows, nil
}
