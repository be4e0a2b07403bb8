package search

import "math"

// learned scores the documents that past queries support. A past query tells something new of a
// document only if it is nearer to the query than the document's own text is: otherwise it
// resembles the query as those for other documents of its kind do.
func (c *comparison) learned(s *scratch, support []Scored) []float32 {
	clear(s.part)
	for _, x := range support {
		own := float32(0)
		switch {
		case c.vectors > 0:
			own = s.cosines[x.Doc]
		case c.grams > 0:
			own = s.grams[x.Doc]
		}
		if score := float32(x.Score); score > own {
			s.part[x.Doc] = score
		}
	}
	return s.part
}

// boundLearned limits what past queries can do, whoever made them up:
//
//   - The share of [Learned] is that of the rank, times the square of the score: the nearest past
//     query may still be far away.
//   - It is at most as large as the shares of all other channels together. So no document gets
//     ahead of one that words and vectors support more than twice as much.
//   - A document that is in neither list, that of words and that of vectors, stays behind those
//     that are in both.
func boundLearned(fused []Fused) {
	both, least := 0, 0.0 // the lists that supported documents are in, and their least score
	for i := range fused {
		f := &fused[i]
		in, s := f.lists()
		if s != nil {
			f.share(s, min(s.Share*s.Score*s.Score, f.Score-s.Share))
		}
		if in > both {
			both, least = in, math.Inf(1)
		}
		if in == both {
			least = min(least, f.Score)
		}
	}
	for i := range fused {
		f := &fused[i]
		if in, s := f.lists(); s != nil && in == 0 && both > 0 {
			f.share(s, max(0, min(s.Share, least-(f.Score-s.Share))))
		}
	}
	sortFused(fused)
}

// lists counts the lists of words and of vectors that a document is in, and returns its source
// of past queries, if it has one.
func (f *Fused) lists() (in int, learned *Source) {
	for i := range f.Sources {
		switch s := &f.Sources[i]; s.Source {
		case FullText, Vectors:
			in++
		case Learned:
			learned = s
		}
	}
	return in, learned
}

// share changes the share of a source.
func (f *Fused) share(s *Source, share float64) {
	f.Score += share - s.Share
	s.Share = share
}
