package bert

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Limits on models. BERT-large has 24 layers of 1,024 values.
const (
	maxHidden    = 4096
	maxLayers    = 48
	maxHeads     = 64
	maxVocab     = 1 << 20
	maxPositions = 2048
)

// config is the part of config.json that the encoder depends on.
type config struct {
	ModelType     string   `json:"model_type"`
	Architectures []string `json:"architectures"`
	Activation    string   `json:"hidden_act"`
	Position      string   `json:"position_embedding_type"`
	Decoder       bool     `json:"is_decoder"`
	Hidden        int      `json:"hidden_size"`
	Inner         int      `json:"intermediate_size"`
	Layers        int      `json:"num_hidden_layers"`
	Heads         int      `json:"num_attention_heads"`
	Positions     int      `json:"max_position_embeddings"`
	Types         int      `json:"type_vocab_size"`
	Vocab         int      `json:"vocab_size"`
	Epsilon       *float64 `json:"layer_norm_eps"`
}

// activations replace the values between the two products of a layer.
var activations = map[string]func([]float32){
	"gelu": gelu, "gelu_new": geluNew, "gelu_pytorch_tanh": geluNew, "relu": relu,
}

// parseConfig parses config.json.
func parseConfig(raw []byte) (*config, error) {
	epsilon := 1e-12 // transformers' default values
	c := &config{Activation: "gelu", Position: "absolute", Types: 2, Positions: 512, Epsilon: &epsilon}
	if err := json.Unmarshal(raw, c); err != nil {
		return nil, err
	}
	if c.ModelType != "bert" {
		return nil, fmt.Errorf("model_type %q is not supported; this build serves BERT encoders: bert", c.ModelType)
	}
	if c.Decoder {
		return nil, fmt.Errorf("is_decoder: true is not supported; an encoder is needed")
	}
	if c.Position != "absolute" {
		return nil, fmt.Errorf("position_embedding_type %q is not supported; absolute is", c.Position)
	}
	if activations[c.Activation] == nil {
		return nil, fmt.Errorf("hidden_act %q is not supported; gelu, gelu_new, gelu_pytorch_tanh and relu are",
			c.Activation)
	}
	if c.Epsilon == nil || *c.Epsilon < 0 || *c.Epsilon > 1 {
		return nil, fmt.Errorf("layer_norm_eps must be a number from 0 to 1")
	}
	for _, limit := range []struct {
		name        string
		value, most int
	}{
		{"hidden_size", c.Hidden, maxHidden},
		{"intermediate_size", c.Inner, maxInner},
		{"num_hidden_layers", c.Layers, maxLayers},
		{"num_attention_heads", c.Heads, maxHeads},
		{"max_position_embeddings", c.Positions, maxPositions},
		{"type_vocab_size", c.Types, maxHidden},
		{"vocab_size", c.Vocab, maxVocab},
	} {
		if limit.value < 1 || limit.value > limit.most {
			return nil, fmt.Errorf("%s is %d; 1 to %d are supported", limit.name, limit.value, limit.most)
		}
	}
	if c.Hidden%c.Heads != 0 {
		return nil, fmt.Errorf("hidden_size %d is not a multiple of num_attention_heads %d", c.Hidden, c.Heads)
	}
	return c, nil
}

// module is an entry of modules.json.
type module struct {
	Path string `json:"path"`
	Type string `json:"type"`
}

// layout is what modules.json and the files that it names say.
type layout struct {
	transformer string // folder of config.json, the tokenizer and the weights
	pooling     string // folder of the pooling's config.json; "" without one
	normalise   bool
}

// parseModules parses modules.json, the list of what sentence-transformers does
// with a text in turn.
func parseModules(raw []byte) (layout, error) {
	var modules []module
	if err := json.Unmarshal(raw, &modules); err != nil {
		return layout{}, err
	}
	var l layout
	var kinds []string
	for _, m := range modules {
		if m.Path != "" && !filepath.IsLocal(m.Path) {
			return layout{}, fmt.Errorf("the path %q leaves the folder", m.Path)
		}
		kind := m.Type[strings.LastIndexByte(m.Type, '.')+1:]
		kinds = append(kinds, kind)
		switch kind {
		case "Transformer":
			l.transformer = m.Path
		case "Pooling":
			l.pooling = m.Path
		case "Normalize":
			l.normalise = true
		default:
			return layout{}, fmt.Errorf("the module %q is not supported; Transformer, Pooling and Normalize are", m.Type)
		}
	}
	if want := []string{"Transformer", "Pooling", "Normalize"}; len(kinds) < 2 || len(kinds) > 3 ||
		!slices.Equal(kinds, want[:len(kinds)]) {
		return layout{}, fmt.Errorf("the modules are %s; Transformer, Pooling and at most Normalize are supported, in "+
			"this order", strings.Join(kinds, ", "))
	}
	return l, nil
}

// parsePooling parses the config.json of the pooling. It returns whether the
// vector is that of the first token, [CLS], and not the mean.
func parsePooling(raw []byte, dimensions int) (first bool, err error) {
	var p map[string]any
	if err := json.Unmarshal(raw, &p); err != nil {
		return false, err
	}
	if n, ok := p["word_embedding_dimension"].(float64); ok && int(n) != dimensions {
		return false, fmt.Errorf("word_embedding_dimension is %v; the model has %d", n, dimensions)
	}
	var modes []string
	for key, value := range p {
		if mode, ok := strings.CutPrefix(key, "pooling_mode_"); ok && value == true {
			modes = append(modes, mode)
		}
	}
	if mode, ok := p["pooling_mode"].(string); ok {
		modes = append(modes, mode)
	}
	slices.Sort(modes)
	switch {
	case len(modes) == 1 && (modes[0] == "cls_token" || modes[0] == "cls"):
		return true, nil
	case len(modes) == 1 && (modes[0] == "mean_tokens" || modes[0] == "mean"), len(modes) == 0:
		return false, nil
	}
	return false, fmt.Errorf("pooling by %s is not supported; cls_token or mean_tokens is", strings.Join(modes, " and "))
}
