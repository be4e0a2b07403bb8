package spicepod

import "slices"

// BodyKind says what a function may declare whose body is not SQL: it is the part of a kind of
// bodies that readers of declarations need, before anything is opened. The packages of the kinds
// in internal/bodies have them; [Load] takes those that are served.
type BodyKind struct {
	// Schemes are what `from` is before the first colon, in lower case.
	Schemes []string
	// Keys have an effect, of those of a function that do not have one for every kind: body,
	// body_ref, sandbox, dependencies, secrets, entrypoint.
	Keys []string
	// FileParam may name the file of the body, as body_ref does; "": no param does. BothHint says
	// what to write instead of both.
	FileParam, BothHint string
	// Runtime is that of the code in a sandbox; "": that of the sandbox.
	Runtime SandboxRuntime
	// Process: calls run in processes of the system, those of a sandbox. A dependency has no such
	// functions.
	Process bool
	// Cheap: a call costs less than the search for rows with equal arguments.
	Cheap bool
}

// Takes reports whether a key has an effect. A function of an unknown kind takes none.
func (k *BodyKind) Takes(key string) bool { return k != nil && slices.Contains(k.Keys, key) }

// Sandboxed reports whether the body belongs to a sandbox.
func (k *BodyKind) Sandboxed() bool { return k.Takes("sandbox") }

// InProcess reports whether calls run in processes of a sandbox.
func (k *BodyKind) InProcess() bool { return k != nil && k.Process }

// sqlBody is the kind of bodies that are SQL.
var sqlBody = BodyKind{Schemes: []string{"sql"}, Keys: []string{"body", "body_ref"}}

// IsSQL reports whether the body is SQL.
func (f Function) IsSQL() bool { return f.Scheme() == sqlBody.Schemes[0] }

// BodySchemes returns the schemes of the bodies that are served.
func (p *Pod) BodySchemes() []string {
	list := slices.Clone(sqlBody.Schemes)
	for _, k := range p.bodies {
		list = append(list, k.Schemes...)
	}
	return list
}

// bodyKind returns the kind of bodies with a scheme, or nil.
func (d *decoder) bodyKind(scheme string) *BodyKind {
	if slices.Contains(sqlBody.Schemes, scheme) {
		return &sqlBody
	}
	for i, k := range d.bodies {
		if slices.Contains(k.Schemes, scheme) {
			return &d.bodies[i]
		}
	}
	return nil
}
