package main

import (
	"context"
	"errors"
	"slices"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/bodies/environment"
	"github.com/spiced-sql/spiced/internal/bodies/sandbox"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/sqlapi"
	"github.com/spiced-sql/spiced/tools"
)

// Sandboxes describes the sandboxes of the current generation.
func (i inventory) Sandboxes(who caller.Caller) []sqlapi.Sandbox {
	hides := i.runtime.ToolEnv().Hidden(tools.Scope{Caller: who})
	return describeSandboxes(i.runtime.Environments(), i.runtime.Isolation, hides)
}

// BuildSandbox installs the packages of a sandbox.
func (i inventory) BuildSandbox(ctx context.Context, name string) error {
	err := i.runtime.BuildSandbox(ctx, name)
	if problems, ok := errors.AsType[spicepod.Problems](err); ok {
		return i.runtime.ForCallers(problems)
	}
	return err
}

// describeSandboxes describes sandboxes, with the isolation of each, without the functions that
// are hidden.
func describeSandboxes(set *environment.Set, isolation func(*environment.Environment) *sandbox.Isolation,
	hides func(function string) bool,
) []sqlapi.Sandbox {
	list := []sqlapi.Sandbox{}
	for _, e := range set.All() {
		s := sqlapi.Sandbox{
			Name: e.Name, Runtime: string(e.Declared.Runtime), Description: e.Declared.Description,
			Dependencies: append([]string{}, e.Dependencies...), Secrets: append([]string{}, e.Secrets...),
			MissingSecrets: e.MissingSecrets(),
			Checksum:       e.Checksum, Built: e.Built(), Functions: slices.DeleteFunc(e.FunctionNames(), hides),
			Isolation: e.Isolation(), Network: string(e.Declared.Network),
		}
		if measured := isolation(e); measured != nil {
			s.Isolated, s.Layers, s.MissingLayers = &measured.Full, measured.On, measured.Missing
		}
		if p := e.Python(); p != nil {
			s.Python = p.Version
		}
		if r, ok := e.Record(); ok {
			for _, p := range r.Packages {
				s.Packages = append(s.Packages, sqlapi.SandboxPackage(p))
			}
		}
		list = append(list, s)
	}
	return list
}
