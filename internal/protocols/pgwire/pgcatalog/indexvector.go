package pgcatalog

// indexVectors are the columns of pg_index of type int2vector and oidvector: lists
// here, so that statements can look into them.
var indexVectors = map[string]bool{"indkey": true, "indoption": true, "indclass": true, "indcollation": true}

// indexVector rewrites an element of a vector, which counts from 0, and what
// the client gets of a whole one, which is text: "1 2". The column's name is token i.
func (r *rewriter) indexVector(i int, name string) {
	from := i
	for r.isSymbol(from-1, ".") && r.nameAt(from-2) != "" {
		from -= 2
	}
	switch next := i + 1; {
	case r.isSymbol(next, "["):
		r.insert(r.tokens[next].End, "1+")
	case r.items[from] != selectItem || r.enclosed(i):
	case r.endsItem(next) || r.keywordAt(next) == "as":
		r.insert(r.tokens[from].Start, "array_to_string(")
		r.insert(r.tokens[i].End, ", ' ')")
		r.nameItem(from, i, name)
	}
}

// enclosed reports whether token i is in parentheses.
func (r *rewriter) enclosed(i int) bool {
	for j := range i {
		if r.isOpening(j) && r.partner[j] > i {
			return true
		}
	}
	return false
}
