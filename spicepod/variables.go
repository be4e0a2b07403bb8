package spicepod

import (
	"slices"
	"strings"
)

// Variable is a variable of the environment that the key secrets of a function or a
// sandbox names.
type Variable struct {
	Name string
	// Value prints as the name; only Reveal returns the value.
	Value Text
	// Message says that the variable is not set, and Hint how to set it; "" if it is set.
	Message, Hint string
}

// Variable returns the variable of a name that secrets of the component at path, such as
// functions[2], lists. It is looked up as a reference ${env:NAME} of the component would be.
func (p *Pod) Variable(path, name string) Variable {
	if p.index != nil {
		at, _ := p.locate(path)
		if v, ok := at.variables[name]; ok {
			return v
		}
	}
	return Variable{Name: name, Message: "the variable " + name + " is not set"}
}

// resolveVariables looks up what secrets of functions and sandboxes names.
func (d *decoder) resolveVariables(pod *Pod, v *vault) {
	d.index.variables = map[string]Variable{}
	look := func(names []string) {
		for _, name := range names {
			value, message, hint := v.lookUp("env", name)
			d.index.variables[name] = Variable{Name: name, Value: NewText(name, value), Message: message, Hint: hint}
		}
	}
	for _, s := range pod.Sandboxes {
		look(s.Secrets)
	}
	for _, f := range pod.Functions {
		if f.Enabled {
			look(f.Secrets)
		}
	}
}

// providerKeys looks up the keys of providers.
func (p *Pod) providerKeys(v *vault) {
	look := func(from string) Text {
		provider, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(from)), ":")
		value, message, _ := v.lookUp("secrets", provider+"_api_key")
		if message != "" {
			return Text{}
		}
		return NewText("${secrets:"+provider+"_api_key}", value)
	}
	for i := range p.Models {
		p.Models[i].Key = look(p.Models[i].From)
	}
	for i := range p.Embeddings {
		p.Embeddings[i].Key = look(p.Embeddings[i].From)
	}
}

// WithEnvironments returns a copy of the Spicepod whose functions have what environment returns
// as their Environment.
func (p *Pod) WithEnvironments(environment func(function string) string) *Pod {
	next := *p
	next.Functions = slices.Clone(p.Functions)
	for i := range next.Functions {
		next.Functions[i].Environment = environment(next.Functions[i].Name)
	}
	return &next
}
