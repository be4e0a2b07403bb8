package bert

// Pieces returns the numbers of a text's pieces.
func (e *Encoder) Pieces(text string) []int32 { return e.tokenizer.append(nil, text) }
