package pgwire

import (
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/spiced-sql/spiced/internal/protocols/pgwire/sqlstate"
)

// session has the settings of a connection and the state of its transaction.
type session struct {
	tx         byte              // I, T or E
	savepoints []savepoint       // of the transaction, the last one last
	values     map[string]string // of settings that differ from their defaults, by folded name
	saved      map[string]string // what values were before the transaction
	local      map[string]string // the values that end with the transaction, as they were before
	login      map[string]string // what RESET goes back to
	timeout    time.Duration     // statement_timeout; 0: none
	reported   map[string]string // the values of settings that the client knows
	changed    bool              // since then

	hasRelation func(schema, name string) bool // see Options
}

func newSession(version string) session {
	number := strings.TrimRight(version[:min(len(version), 2)], ". ")
	if n, err := strconv.Atoi(number); err == nil {
		number = strconv.Itoa(n * 10_000)
	}
	return session{
		tx: txIdle, reported: map[string]string{}, changed: true,
		values: map[string]string{"server_version": version, "server_version_num": number},
	}
}

// begin ends the login: what is set now is what RESET goes back to.
func (s *session) begin(user string) {
	s.values["session_authorization"] = user
	s.login = maps.Clone(s.values)
}

// value is the value of a setting, "" if it does not exist.
func (s *session) value(name string) string {
	key := strings.ToLower(name)
	if v, ok := s.values[key]; ok {
		return v
	}
	if ofTransaction[key] { // unless the transaction has its own
		return s.value("default_" + key)
	}
	return settings[key].value
}

// ofTransaction are the settings that a transaction takes from its default_….
var ofTransaction = map[string]bool{
	"transaction_isolation": true, "transaction_read_only": true,
	"transaction_deferrable": true,
}

// lookup returns the setting of that name. A name with a dot is a client's own.
func lookup(name string) (setting, error) {
	known, ok := settings[strings.ToLower(name)]
	switch {
	case ok:
		return known, nil
	case !strings.Contains(name, "."):
		return known, sqlstate.Errorf(sqlstate.UnknownSetting, "", "unrecognized configuration parameter %q", name)
	}
	known.name = name
	return known, checkName(name)
}

// checkName refuses a name that is too long to keep.
func checkName(name string) error {
	if len(name) > maxName {
		return sqlstate.Errorf(sqlstate.LongName, "choose a shorter one", "a name of %d bytes; the limit is %d",
			len(name), maxName)
	}
	return nil
}

// set gives a setting a value; local ends with the transaction.
func (s *session) set(name, value string, local bool) error {
	known, err := lookup(name)
	switch {
	case err != nil:
		return err
	case known.fixed:
		return sqlstate.Errorf(sqlstate.SettingFixed, "", "parameter %q cannot be changed", known.name)
	case len(value) > maxSetting:
		return sqlstate.Errorf(sqlstate.Program, "", "the value of %q has %d bytes; the limit is %d", known.name, len(value),
			maxSetting)
	}
	if known.name == searchPath {
		if err = s.checkPath(value); err != nil {
			return err
		}
	}
	if known.check != nil {
		if value, err = known.check(value); err != nil {
			return err
		}
	}
	return s.put(strings.ToLower(name), value, local)
}

// put stores copies of a folded name and a value: they are parts of a statement.
func (s *session) put(key, value string, local bool) error {
	if _, held := s.values[key]; !held && len(s.values) >= maxSettings {
		return sqlstate.Errorf(sqlstate.Program, "RESET some", "a connection can change %d settings", maxSettings)
	}
	key = strings.Clone(key)
	s.keepLocal(key, local)
	s.values[key] = strings.Clone(value)
	s.apply()
	return nil
}

// keepLocal stores the value that a setting has after the transaction.
func (s *session) keepLocal(key string, local bool) {
	if !local {
		delete(s.local, key)
		return
	}
	if _, held := s.local[key]; held {
		return
	}
	if s.local == nil {
		s.local = map[string]string{}
	}
	s.local[key] = s.value(key)
}

// reset gives a setting the value of the login; local ends with the
// transaction.
func (s *session) reset(name string, local bool) error {
	known, err := lookup(name)
	if err != nil || known.fixed {
		return err
	}
	key := strings.ToLower(name)
	v, ok := s.login[key]
	if local {
		if !ok {
			v = known.value
		}
		return s.put(key, v, true)
	}
	s.keepLocal(key, false)
	if ok {
		s.values[key] = v
	} else {
		delete(s.values, key)
	}
	s.apply()
	return nil
}

func (s *session) resetAll() {
	s.values, s.local = maps.Clone(s.login), nil
	s.apply()
}

// apply follows a change of settings.
func (s *session) apply() {
	s.changed = true
	s.timeout = s.duration("statement_timeout")
}

// duration is the value of a setting of time; 0: none.
func (s *session) duration(name string) time.Duration {
	ms, _ := strconv.ParseInt(strings.TrimSuffix(s.value(name), "ms"), 10, 64)
	return time.Duration(ms) * time.Millisecond
}

// report sends the reported settings that have changed.
func (s *session) report(out *output) {
	if !s.changed {
		return
	}
	for _, name := range reported {
		value := s.value(name)
		if known, ok := s.reported[name]; !ok || known != value {
			s.reported[name] = value
			out.send(&pgproto3.ParameterStatus{Name: name, Value: value})
		}
	}
	s.changed = false
}

// allows refuses what cannot run in the state of the transaction.
func (s *session) allows(p *plan) error {
	switch {
	case s.tx == txFailed && p.text != "" && (p.command == nil || !p.command.aborted):
		return sqlstate.Errorf(sqlstate.Aborted, "ROLLBACK first",
			"current transaction is aborted, commands ignored until end of transaction block")
	case !p.writes():
		return nil
	case s.tx != txIdle && (s.value("transaction_isolation") == "serializable" ||
		s.value("transaction_isolation") == "repeatable read"):
		return sqlstate.Errorf(sqlstate.Unsupported, "BEGIN ISOLATION LEVEL READ COMMITTED",
			"%s cannot run in a transaction at isolation level %s", p.verb, s.value("transaction_isolation"))
	case !s.readOnly():
		return nil
	}
	return sqlstate.Errorf(sqlstate.ReadOnly, "SET default_transaction_read_only = off, and BEGIN without READ ONLY",
		"cannot execute %s in a read-only transaction", p.verb)
}

// readOnly reports whether statements may not write.
func (s *session) readOnly() bool {
	if s.tx == txIdle {
		return s.value("default_transaction_read_only") == "on"
	}
	return s.value("transaction_read_only") == "on"
}

// open begins a transaction block.
func (s *session) open() {
	s.tx = txOpen
	s.saved = maps.Clone(s.values)
}

// close ends the transaction block; when it is taken back, so is what was set
// in it.
func (s *session) close(commit bool) {
	if !commit {
		s.values = s.saved
	} else {
		maps.Copy(s.values, s.local)
	}
	maps.DeleteFunc(s.values, func(name, _ string) bool { return ofTransaction[name] })
	s.tx, s.savepoints, s.saved, s.local = txIdle, nil, nil, nil
	s.apply()
}
