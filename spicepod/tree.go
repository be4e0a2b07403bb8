package spicepod

import "go.yaml.in/yaml/v3"

// entry is one key of a mapping with its value.
type entry struct{ key, value *yaml.Node }

// maxMergeSteps limits the number of mappings that the merge keys of one mapping visit.
const maxMergeSteps = 10_000

// entriesOf returns the entries of a mapping in file order, followed by those of merge keys
// (<<). Merged keys that the mapping already has are omitted; duplicate keys of the mapping
// are all returned, for the decoder to refuse. whole is false if the merge keys are invalid or
// visit too many mappings.
func entriesOf(mapping *yaml.Node) (entries []entry, whole bool) {
	entries = make([]entry, 0, len(mapping.Content)/2)
	var merges []*yaml.Node
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		if isMerge(key) {
			merges = append(merges, value)
			continue
		}
		entries = append(entries, entry{key, value})
	}
	if len(merges) == 0 {
		return entries, true
	}
	m := merger{entries: entries, taken: make(map[string]bool, len(entries))}
	for _, e := range entries {
		m.taken[keyText(e.key)] = true
	}
	for _, merge := range merges {
		m.add(merge, 0)
	}
	return m.entries, !m.broken
}

// merger collects the entries of merge keys.
type merger struct {
	entries []entry
	taken   map[string]bool
	steps   int
	broken  bool
}

// add adds the entries of a merge value: a mapping, or a list of mappings.
func (m *merger) add(merge *yaml.Node, depth int) {
	m.steps++
	merge = target(merge)
	if merge == nil || depth > MaxDepth || m.steps > maxMergeSteps {
		m.broken = true
		return
	}
	switch merge.Kind {
	case yaml.SequenceNode:
		for _, item := range merge.Content {
			if m.add(item, depth+1); m.steps > maxMergeSteps {
				return
			}
		}
	case yaml.MappingNode:
		m.addMapping(merge, depth)
	default:
		m.broken = m.broken || !isNull(merge)
	}
}

func (m *merger) addMapping(mapping *yaml.Node, depth int) {
	var nested []*yaml.Node
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		if isMerge(key) {
			nested = append(nested, value)
		} else if text := keyText(key); !m.taken[text] {
			m.taken[text] = true
			m.entries = append(m.entries, entry{key, value})
		}
	}
	for _, n := range nested {
		if m.add(n, depth+1); m.steps > maxMergeSteps {
			return
		}
	}
}

func isMerge(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.Value == "<<" && key.ShortTag() == "!!merge"
}

// target follows aliases to the anchored node; nil for a cycle of aliases.
func target(n *yaml.Node) *yaml.Node {
	for range MaxDepth {
		if n == nil || n.Kind != yaml.AliasNode {
			return n
		}
		n = n.Alias
	}
	return nil
}

// keyText is the text of a key; "" for a key that is not a scalar.
func keyText(key *yaml.Node) string {
	if key = target(key); key != nil && key.Kind == yaml.ScalarNode {
		return key.Value
	}
	return ""
}
