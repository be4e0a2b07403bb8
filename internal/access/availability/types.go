package availability

import (
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
)

// The names of the declared objects.
const (
	objectCtx      = "ctx"
	objectSettings = "ctx.settings"
	objectTool     = "tool"
)

// typeOf returns the type of an object. Expressions cannot write its name.
func typeOf(object string) *types.Type { return types.NewObjectType("$" + object) }

// provider declares the objects ctx, ctx.settings and tool.
type provider struct {
	types.Provider
	objects map[string]object
}

// object is a declared type: its fields in order, and by name.
type object struct {
	names  []string
	byName map[string]*types.FieldType
}

func (o *object) add(name string, t *types.Type, get func(target any) any) {
	o.names = append(o.names, name)
	o.byName[name] = &types.FieldType{
		Type: t, IsSet: func(target any) bool { return get(target) != types.NullValue }, // for has()
		GetFrom: func(target any) (any, error) { return get(target), nil },
	}
}

func newProvider(base types.Provider, settings map[string]setting) *provider {
	p := &provider{base, map[string]object{}}
	ctx := object{byName: map[string]*types.FieldType{}}
	for _, t := range texts {
		ctx.add(t.name, types.NewNullableType(types.StringType), func(target any) any {
			if text := t.of(target.(*Context)); text != "" {
				return types.String(text)
			}
			return types.NullValue
		})
	}
	ctx.add(fieldNow, types.TimestampType, func(target any) any { return types.Timestamp{Time: target.(*Context).Now} })
	ctx.add(fieldSettings, typeOf(objectSettings), func(any) any { return struct{}{} })
	p.objects[objectCtx] = ctx

	values := object{byName: map[string]*types.FieldType{}}
	for _, name := range sortedKeys(settings) {
		values.add(name, settings[name].typ, func(any) any { return settings[name].value })
	}
	p.objects[objectSettings] = values

	tool := object{byName: map[string]*types.FieldType{}}
	for i, of := range []func(*Tool) any{
		func(t *Tool) any { return types.String(t.Name) },
		func(t *Tool) any { return types.String(t.Owner) },
		func(t *Tool) any { return types.NewStringList(types.DefaultTypeAdapter, t.Tags) },
		func(t *Tool) any { return types.String(t.Source) },
		func(t *Tool) any { return types.String(t.Risk) },
	} {
		typ := types.StringType
		if fields[i] == "tags" {
			typ = types.NewListType(types.StringType)
		}
		tool.add(fields[i], typ, func(target any) any { return of(target.(*Tool)) })
	}
	p.objects[objectTool] = tool
	return p
}

// FindStructType implements [types.Provider].
func (p *provider) FindStructType(name string) (*types.Type, bool) {
	if object, ok := strings.CutPrefix(name, "$"); ok {
		return types.NewTypeTypeWithParam(typeOf(object)), p.objects[object].names != nil
	}
	return p.Provider.FindStructType(name)
}

// FindStructFieldNames implements [types.Provider].
func (p *provider) FindStructFieldNames(name string) ([]string, bool) {
	if object, ok := strings.CutPrefix(name, "$"); ok {
		return slices.Clone(p.objects[object].names), p.objects[object].names != nil
	}
	return p.Provider.FindStructFieldNames(name)
}

// FindStructFieldType implements [types.Provider].
func (p *provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	if object, ok := strings.CutPrefix(name, "$"); ok {
		t, ok := p.objects[object].byName[field]
		return t, ok
	}
	return p.Provider.FindStructFieldType(name, field)
}

// activation resolves the variables of one evaluation.
type activation struct {
	ctx  *Context
	tool *Tool
}

// ResolveName implements CEL's Activation.
func (a *activation) ResolveName(name string) (any, bool) {
	switch name {
	case objectCtx:
		return a.ctx, true
	case objectTool:
		return a.tool, true
	}
	return nil, false
}

// Parent implements CEL's Activation.
func (*activation) Parent() cel.Activation { return nil }
