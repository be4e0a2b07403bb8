package bert

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/spiced-sql/spiced/internal/find/embeddings/wordpiece"
)

const (
	maxAdded     = 256
	maxWordRunes = 1000
)

// tokenizer makes the numbers that a model takes of a text: those of its pieces,
// between [CLS] and [SEP].
type tokenizer struct {
	wordpiece.Tokenizer
	first, last int32
	most        int // numbers of a text
}

// file is tokenizer.json as Hugging Face's tokenizers write it. Its fields
// truncation and padding are replaced by the model's own, as
// sentence-transformers does; decoder is for the other direction.
type tokenizerFile struct {
	Added      []addedToken `json:"added_tokens"`
	Normalizer struct {
		Type    string `json:"type"`
		Clean   bool   `json:"clean_text"`
		Chinese bool   `json:"handle_chinese_chars"`
		Strip   *bool  `json:"strip_accents"`
		Lower   bool   `json:"lowercase"`
	} `json:"normalizer"`
	Pre struct {
		Type string `json:"type"`
	} `json:"pre_tokenizer"`
	Post  postProcessor `json:"post_processor"`
	Model struct {
		Type     string           `json:"type"`
		Unknown  string           `json:"unk_token"`
		Prefix   string           `json:"continuing_subword_prefix"`
		MaxRunes int              `json:"max_input_chars_per_word"`
		Vocab    map[string]int32 `json:"vocab"`
	} `json:"model"`
}

type addedToken struct {
	ID         int32  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	Left       bool   `json:"lstrip"`
	Right      bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
}

type postProcessor struct {
	Type   string `json:"type"`
	CLS    []any  `json:"cls"` // of BertProcessing: the token and its number
	SEP    []any  `json:"sep"`
	Single []struct {
		Special *struct {
			ID   string `json:"id"`
			Type int    `json:"type_id"`
		} `json:"SpecialToken"`
		Sequence *struct {
			ID   string `json:"id"`
			Type int    `json:"type_id"`
		} `json:"Sequence"`
	} `json:"single"`
	Special map[string]struct {
		IDs []int32 `json:"ids"`
	} `json:"special_tokens"`
}

// parseTokenizer parses tokenizer.json for a model with rows for vocab numbers.
func parseTokenizer(raw []byte, vocab int) (*tokenizer, error) {
	var f tokenizerFile
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, err
	}
	for _, part := range []struct{ name, is, want string }{
		{"model", f.Model.Type, "WordPiece"},
		{"normalizer", f.Normalizer.Type, "BertNormalizer"},
		{"pre_tokenizer", f.Pre.Type, "BertPreTokenizer"},
	} {
		if part.is != part.want {
			return nil, fmt.Errorf("a %s of type %q is not supported; %s is", part.name, part.is, part.want)
		}
	}
	if f.Model.Prefix != "##" {
		return nil, fmt.Errorf("continuing_subword_prefix %q is not supported; ## is", f.Model.Prefix)
	}
	if f.Model.MaxRunes < 1 || f.Model.MaxRunes > maxWordRunes {
		return nil, fmt.Errorf("max_input_chars_per_word is %d; 1 to %d are supported", f.Model.MaxRunes, maxWordRunes)
	}
	pieces, err := listPieces(f.Model.Vocab, vocab)
	if err != nil {
		return nil, err
	}
	t := &tokenizer{Tokenizer: wordpiece.Tokenizer{
		Vocabulary: wordpiece.New(pieces), MaxWordRunes: f.Model.MaxRunes, Added: map[string]int32{},
		Clean: f.Normalizer.Clean, Chinese: f.Normalizer.Chinese, Lower: f.Normalizer.Lower, Strip: f.Normalizer.Lower,
	}}
	if f.Normalizer.Strip != nil {
		t.Strip = *f.Normalizer.Strip
	}
	var known bool
	if t.Unknown, known = f.Model.Vocab[f.Model.Unknown]; !known {
		return nil, fmt.Errorf("unk_token %q is not in the vocabulary", f.Model.Unknown)
	}
	if err := t.add(f.Added, vocab); err != nil {
		return nil, err
	}
	if err := t.surround(&f.Post, vocab); err != nil {
		return nil, err
	}
	return t, nil
}

// listPieces returns the pieces by number.
func listPieces(byPiece map[string]int32, vocab int) ([]string, error) {
	pieces := make([]string, vocab)
	for piece, n := range byPiece {
		switch {
		case n < 0 || int(n) >= vocab:
			return nil, fmt.Errorf("the piece %q has number %d; the model's vocab_size is %d", piece, n, vocab)
		case piece == "" || pieces[n] != "":
			return nil, fmt.Errorf("the pieces %q and %q have the number %d, or one is empty", piece, pieces[n], n)
		}
		pieces[n] = piece
	}
	return pieces, nil
}

// add adds the tokens that are found in texts as they are.
func (t *tokenizer) add(tokens []addedToken, vocab int) error {
	if len(tokens) > maxAdded {
		return fmt.Errorf("%d added_tokens; at most %d are supported", len(tokens), maxAdded)
	}
	for _, a := range tokens {
		switch {
		case a.SingleWord || a.Left || a.Right || a.Normalized:
			return fmt.Errorf("the added token %q has single_word, lstrip, rstrip or normalized set, which is not supported",
				a.Content)
		case a.ID < 0 || int(a.ID) >= vocab || a.Content == "":
			return fmt.Errorf("the added token %q has number %d; the model's vocab_size is %d", a.Content, a.ID, vocab)
		}
		t.Added[a.Content] = a.ID
	}
	return nil
}

// surround finds the numbers before and after those of a text.
func (t *tokenizer) surround(p *postProcessor, vocab int) error {
	var ids []int32
	switch p.Type {
	case "BertProcessing":
		for _, pair := range [][]any{p.CLS, p.SEP} {
			if len(pair) == 2 {
				if n, ok := pair[1].(float64); ok && n == float64(int32(n)) {
					ids = append(ids, int32(n))
				}
			}
		}
	case "TemplateProcessing":
		if s := p.Single; len(s) == 3 && s[0].Special != nil && s[1].Sequence != nil && s[2].Special != nil &&
			s[0].Special.Type == 0 && s[1].Sequence.Type == 0 && s[2].Special.Type == 0 && s[1].Sequence.ID == "A" {
			ids = slices.Concat(p.Special[s[0].Special.ID].IDs, p.Special[s[2].Special.ID].IDs)
		}
	default:
		return fmt.Errorf("a post_processor of type %q is not supported; TemplateProcessing and BertProcessing are", p.Type)
	}
	if len(ids) != 2 || slices.ContainsFunc(ids, func(n int32) bool { return n < 0 || int(n) >= vocab }) {
		return fmt.Errorf("the post_processor is not supported: a text must stand between two tokens of the vocabulary, " +
			"[CLS] and [SEP]")
	}
	t.first, t.last = ids[0], ids[1]
	return nil
}

// append appends the numbers of a text, at most t.most.
func (t *tokenizer) append(dst []int32, text string) []int32 {
	most := len(dst) + t.most - 1
	dst = append(dst, t.first)
	return append(t.Append(dst, text, most), t.last)
}
