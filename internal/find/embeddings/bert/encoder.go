// Package bert embeds texts as vectors with sentence encoders of the BERT
// family, from the files that sentence-transformers writes: config.json,
// tokenizer.json, model.safetensors, modules.json and the pooling's config.json.
// Devlin et al., "BERT", NAACL 2019; Reimers and Gurevych, "Sentence-BERT",
// EMNLP 2019.
//
//	e, err := bert.Load("all-MiniLM-L6-v2") // a folder
//	vectors, tokens, err := e.Embed(ctx, []string{"great-circle distance"})
//
// Vectors agree with those of sentence-transformers: their cosine is above .9999.
package bert

import (
	"context"
	"math"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
)

// maxBatch is how many tokens go through the layers together: their activations
// stay in a processor's cache, and a call can end between two batches.
const maxBatch = 256

// Encoder is a loaded model. It is safe for concurrent use.
type Encoder struct {
	config     config
	digest     string
	tokenizer  *tokenizer
	activate   func([]float32)
	firstToken bool // the vector is that of [CLS], not the mean
	normalise  bool

	words     table
	positions []float32 // with the embedding of token type 0 added
	norm      norm
	layers    []layer
	scratch   sync.Pool // of *scratch
}

// layer is one layer of the transformer.
type layer struct {
	attention *matrix // query, key and value, one after the other
	output    *matrix
	norm1     norm
	inner     *matrix
	outer     *matrix
	norm2     norm
}

// Dimensions is the length of a vector.
func (e *Encoder) Dimensions() int { return e.config.Hidden }

// Digest is a checksum of everything that vectors depend on.
func (e *Encoder) Digest() string { return e.digest }

// workers are the batches that all models compute at a time. Queries of SQL run
// at the same time: the system divides the processors.
var workers = make(chan struct{}, min(runtime.GOMAXPROCS(0), 4))

// Embed returns a vector for each text, and the number of tokens. Texts of more
// tokens than the model takes are cut off, as sentence-transformers does. The
// error is the cause of ctx.
func (e *Encoder) Embed(ctx context.Context, texts []string) ([][]float32, int, error) {
	pieces := make([][]int32, len(texts))
	order := make([]int, len(texts))
	tokens := 0
	for i, text := range texts {
		if ctx.Err() != nil {
			return nil, 0, context.Cause(ctx)
		}
		pieces[i], order[i] = e.tokenizer.append(nil, text), i
		tokens += len(pieces[i])
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(pieces[b]) - len(pieces[a]) }) // long ones first
	vectors := make([][]float32, len(texts))
	group, inner := errgroup.WithContext(ctx)
	for len(order) > 0 {
		n, size := 1, len(pieces[order[0]])
		for n < len(order) && size+len(pieces[order[n]]) <= maxBatch {
			size += len(pieces[order[n]])
			n++
		}
		batch := order[:n]
		order = order[n:]
		select {
		case <-inner.Done():
		case workers <- struct{}{}:
			group.Go(func() error {
				defer func() { <-workers }()
				e.batch(batch, pieces, vectors)
				return nil
			})
		}
		if inner.Err() != nil {
			break
		}
	}
	if err := group.Wait(); err != nil {
		return nil, 0, err
	}
	if ctx.Err() != nil {
		return nil, 0, context.Cause(ctx)
	}
	return vectors, tokens, nil
}

// batch sets the vectors of the texts whose numbers are in which.
func (e *Encoder) batch(which []int, pieces [][]int32, vectors [][]float32) {
	s, _ := e.scratch.Get().(*scratch)
	if s == nil {
		s = &scratch{}
	}
	defer e.scratch.Put(s)
	s.ends = s.ends[:0]
	total := 0
	for _, i := range which {
		total += len(pieces[i])
		s.ends = append(s.ends, total)
	}
	n := e.config.Hidden
	s.x = room(s.x, total*n)
	row := 0
	for _, i := range which {
		for position, piece := range pieces[i] {
			x := s.x[row*n:][:n]
			e.words.row(x, piece)
			normalise(x, e.positions[position*n:], e.norm.weight, e.norm.bias, e.epsilon())
			row++
		}
	}
	for i := range e.layers {
		e.layer(s, &e.layers[i], total)
	}
	from := 0
	for k, i := range which {
		vectors[i] = e.pool(s.x[from*n : s.ends[k]*n])
		from = s.ends[k]
	}
}

func (e *Encoder) epsilon() float32 { return float32(*e.config.Epsilon) }

// scratch is the memory of a batch. Matrices have one row for each token.
type scratch struct {
	ends           []int // of the rows of each text
	x              []float32
	qkv            []float32 // query, key and value of each token
	context, inner []float32
	left           rows

	// of one head of one text:
	queries, shares rows
	keys, values    matrix
	scores          []float32
}

// layer replaces s.x, total rows, by what a layer makes of it.
func (e *Encoder) layer(s *scratch, l *layer, total int) {
	n := e.config.Hidden
	s.qkv = room(s.qkv, total*3*n)
	s.linear(s.qkv, s.x, l.attention, total)

	s.context = room(s.context, total*n)
	from := 0
	for _, end := range s.ends {
		for head := range e.config.Heads {
			s.attend(from, end, head, n/e.config.Heads, n)
		}
		from = end
	}

	s.inner = room(s.inner, total*max(n, e.config.Inner))
	s.linear(s.inner, s.context, l.output, total)
	l.norm1.apply(s.x, s.inner, e.epsilon())

	s.inner = s.inner[:total*e.config.Inner]
	s.linear(s.inner, s.x, l.inner, total)
	e.activate(s.inner)
	s.linear(s.context, s.inner, l.outer, total)
	l.norm2.apply(s.x, s.context, e.epsilon())
}

// linear sets out to x·m + bias.
func (s *scratch) linear(out, x []float32, m *matrix, total int) {
	s.left.resize(total, m.k)
	for i := range total {
		s.left.set(i, x[i*m.k:][:m.k], 1)
	}
	product(out, m.n, &s.left, m)
}

// attend sets the part of one head, of size values, in s.context for the rows of
// one text: each row is the mean of the values of all tokens of the text,
// weighted with the softmax of query·key/√size.
func (s *scratch) attend(from, end, head, size, hidden int) {
	count, at := end-from, head*size
	s.queries.resize(count, size)
	s.keys.resize(size, count)
	s.values.resize(count, size)
	scale := float32(1 / math.Sqrt(float64(size)))
	for i := range count {
		row := s.qkv[(from+i)*3*hidden+at:]
		s.queries.set(i, row[:size], scale)
		s.keys.setColumn(i, row[hidden:])
	}
	s.values.setRows(s.qkv[from*3*hidden+2*hidden+at:], 3*hidden)
	stride := (count + 7) &^ 7 // kernels take eight values at a time
	s.scores = room(s.scores, count*stride)
	product(s.scores, stride, &s.queries, &s.keys)
	s.shares.resize(count, count)
	for i := range count {
		row := s.scores[i*stride:][:stride]
		for j := count; j < stride; j++ {
			row[j] = -math.MaxFloat32
		}
		sum := softmax(row)
		s.shares.set(i, row[:count], 1/sum)
	}
	product(s.context[from*hidden+at:], hidden, &s.shares, &s.values)
}

// pool returns the vector of a text, whose rows are x.
func (e *Encoder) pool(x []float32) []float32 {
	n := e.config.Hidden
	vector := make([]float32, n)
	if e.firstToken {
		copy(vector, x)
	} else {
		for i := 0; i < len(x); i += n {
			add(vector, x[i:])
		}
		multiply(vector, float32(n)/float32(len(x)))
	}
	if e.normalise {
		multiply(vector, float32(1/max(math.Sqrt(float64(squares(vector))), 1e-12)))
	}
	return vector
}

// add adds y to x.
func add(x, y []float32) {
	y = y[:len(x)]
	for i := range x {
		x[i] += y[i]
	}
}

func multiply(x []float32, factor float32) {
	for i := range x {
		x[i] *= factor
	}
}

func relu(x []float32) {
	for i, v := range x {
		x[i] = max(v, 0)
	}
}

// geluNew is the approximation of gelu with tanh.
func geluNew(x []float32) {
	for i, v := range x {
		v := float64(v)
		x[i] = float32(.5 * v * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(v+.044715*v*v*v))))
	}
}

// norm is a layer normalisation: Ba et al., "Layer Normalization", 2016.
type norm struct{ weight, bias []float32 }

// apply adds y to x and normalises each row of x.
func (l norm) apply(x, y []float32, epsilon float32) {
	n := len(l.weight)
	for i := 0; i < len(x); i += n {
		normalise(x[i:i+n], y[i:], l.weight, l.bias, epsilon)
	}
}

// table has the embeddings of word pieces, in 16 bits with a scale for each row.
type table struct {
	n      int
	values []int16
	scales []float32
}

func (t *table) read(values []float32, n int) {
	t.n, t.values, t.scales = n, make([]int16, len(values)), make([]float32, len(values)/n)
	for i := range t.scales {
		row := values[i*n:][:n]
		most := float32(0)
		for _, v := range row {
			most = max(most, v, -v)
		}
		if factor := math.MaxInt16 / most; !math.IsInf(float64(factor), 0) {
			t.scales[i] = 1 / factor
			roundGo(t.values[i*n:], row, factor)
		}
	}
}

func (t *table) row(to []float32, i int32) {
	scale := t.scales[i]
	for j, v := range t.values[int(i)*t.n:][:t.n] {
		to[j] = float32(v) * scale
	}
}
