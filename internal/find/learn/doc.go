// Package learn ranks tools by past queries: a query that resembles one which ended in a
// successful call of a tool supports that tool.
//
//	m := learn.New([]learn.Pair{{Tool: "haversine_km", Principal: "ann", Vector: v, Calls: 1}})
//	m.Support(learn.Caller{Principal: "ann"}, vectors) // [{haversine_km 0.41}]
//
// Pairs belong to a principal in a space. A caller's own pairs count at once. Those of others in
// the space count when three principals agree: of the principals, each with the cosine of its
// nearest pair, it is the third best that counts. So two principals, whatever they invent, change
// nothing for others; and no caller learns from a space that it is not in.
package learn
