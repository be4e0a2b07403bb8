"""Writes the golden files of package bert's tests: tiny/, a small BERT with random weights;
tiny.json and minilm.json, texts with the numbers of their pieces and their vectors; and
normalizers.json, the numbers with each switch of the normalizer. The numbers are
those of Hugging Face's tokenizers, and the vectors are computed here with NumPy in float64, by the
formulas of the paper: an implementation that shares nothing with the package's.

    pip install numpy==2.4.6 tokenizers==0.23.3
    python reference.py testdata [FOLDER of all-MiniLM-L6-v2]
"""
import json
import math
import os
import struct
import sys

import numpy as np
from tokenizers import Tokenizer

TEXTS = [
    "",
    "great-circle distance between two airports",
    "Find the weather forecast for a city in the next three days",
    "tool_id: convert_currency\ndescription: Converts an amount between two currencies.\n"
    'parameters: {"type":"object","properties":{"amount":{"type":"number"},"to":{"type":"string"}}}',
    "Naïve café — Ünïcödé, ÅNGSTRÖM & İstanbul",
    "東京の天気 and 서울 날씨",
    "[CLS] is a token [SEP] and [unused1] is not; [MASK]",
    "a\tb\nc\rd\x0be\u00a0f\u200bg\u2028h\u0085i\x00j\ufffdk",
    "xyzzyqwrtplkjhgf " + "z" * 101 + " ok",
    "🙂 emoji ½ № ﬁ Ǆ ß ẞ ς Σ",
    "word " * 300,
]

NAMES = {
    "layers": "encoder.layer.%d.",
    "linear": ["attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense",
               "intermediate.dense", "output.dense"],
}


def read(path):
    """The tensors of a safetensors file of F32, by name."""
    raw = open(path, "rb").read()
    n = struct.unpack("<Q", raw[:8])[0]
    tensors = {}
    for name, t in json.loads(raw[8:8 + n]).items():
        if name != "__metadata__" and t["dtype"] == "F32":
            begin, end = t["data_offsets"]
            tensors[name] = np.frombuffer(raw[8 + n + begin:8 + n + end], "<f4").reshape(t["shape"]).astype(np.float64)
    return tensors


def write(path, tensors):
    header, data = {}, b""
    for name in sorted(tensors):
        raw = tensors[name].astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensors[name].shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    raw = json.dumps(header).encode()
    raw += b" " * (-len(raw) % 8)
    open(path, "wb").write(struct.pack("<Q", len(raw)) + raw + data)


def norm(x, t, name, epsilon):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * t[name + ".weight"] + t[name + ".bias"]


erf = np.vectorize(math.erf)


def vector(t, c, ids, first, normalise):
    epsilon, heads = c["layer_norm_eps"], c["num_attention_heads"]
    x = t["embeddings.word_embeddings.weight"][ids] + t["embeddings.position_embeddings.weight"][:len(ids)]
    x = norm(x + t["embeddings.token_type_embeddings.weight"][0], t, "embeddings.LayerNorm", epsilon)
    split = lambda y: y.reshape(len(ids), heads, -1).transpose(1, 0, 2)
    for i in range(c["num_hidden_layers"]):
        at = NAMES["layers"] % i
        linear = lambda y, name: y @ t[at + name + ".weight"].T + t[at + name + ".bias"]
        q, k, v = (split(linear(x, "attention.self." + name)) for name in ("query", "key", "value"))
        s = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1])
        s = np.exp(s - s.max(-1, keepdims=True))
        y = (s / s.sum(-1, keepdims=True)) @ v
        x = norm(x + linear(y.transpose(1, 0, 2).reshape(len(ids), -1), "attention.output.dense"), t,
                 at + "attention.output.LayerNorm", epsilon)
        y = linear(x, "intermediate.dense")
        y = np.maximum(y, 0) if c["hidden_act"] == "relu" else y * (1 + erf(y / math.sqrt(2))) / 2
        x = norm(x + linear(y, "output.dense"), t, at + "output.LayerNorm", epsilon)
    x = x[0] if first else x.mean(0)
    return x / np.linalg.norm(x) if normalise else x


def golden(path, folder, texts, limit, first, normalise, digits):
    tokenizer = Tokenizer.from_file(folder + "/tokenizer.json")
    tokenizer.no_padding()
    tokenizer.enable_truncation(limit)
    t, c = read(folder + "/model.safetensors"), json.load(open(folder + "/config.json"))
    lines = []
    for text in texts:
        ids = tokenizer.encode(text).ids
        v = [round(x, digits) for x in vector(t, c, ids, first, normalise)]
        lines.append(json.dumps({"text": text, "ids": ids, "vector": v}, ensure_ascii=False, separators=(",", ":")))
    open(path, "w").write("[\n" + ",\n".join(lines) + "\n]\n")


def normalizers(path, folder):
    """The numbers of the texts with other values of the normalizer's switches."""
    lines = []
    for change in [{"lowercase": False}, {"strip_accents": False}, {"lowercase": False, "strip_accents": True},
                   {"handle_chinese_chars": False}, {"clean_text": False}]:
        c = json.load(open(folder + "/tokenizer.json"))
        c["normalizer"].update(change)
        tokenizer = Tokenizer.from_str(json.dumps(c))
        tokenizer.enable_truncation(32)
        lines.append(json.dumps({"change": change, "ids": [tokenizer.encode(text).ids for text in TEXTS]}))
    open(path, "w").write("[\n" + ",\n".join(lines) + "\n]\n")


def tiny(folder):
    """A model whose sizes are no multiples of those that kernels compute at a time."""
    os.makedirs(folder + "/1_Pooling", exist_ok=True)
    letters = [chr(i) for i in range(33, 127) if not chr(i).isupper()]
    words = "the a distance weather tool forecast between two city days currency amount convert type object string"
    vocab = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + letters + ["##" + x for x in letters if x.isalnum()]
    vocab += words.split() + ["##s", "##ing", "cafe", "東", "京"][1:]
    vocab = list(dict.fromkeys(vocab))
    hidden, inner, layers, positions = 24, 56, 2, 40
    random = np.random.default_rng(36)
    t = {
        "embeddings.word_embeddings.weight": random.normal(0, 1, (len(vocab), hidden)),
        "embeddings.position_embeddings.weight": random.normal(0, .3, (positions, hidden)),
        "embeddings.token_type_embeddings.weight": random.normal(0, .3, (2, hidden)),
    }
    norms = ["embeddings.LayerNorm"]
    for i in range(layers):
        at = NAMES["layers"] % i
        norms += [at + "attention.output.LayerNorm", at + "output.LayerNorm"]
        for name in NAMES["linear"]:
            out, into = hidden, hidden
            if name == "intermediate.dense":
                out = inner
            if name == "output.dense":
                into = inner
            t[at + name + ".weight"] = random.normal(0, 1.5 / math.sqrt(into), (out, into))
            t[at + name + ".bias"] = random.normal(0, .2, out)
    for name in norms:
        t[name + ".weight"], t[name + ".bias"] = random.normal(1, .2, hidden), random.normal(0, .2, hidden)
    write(folder + "/model.safetensors", t)
    put = lambda name, value: open(folder + "/" + name, "w").write(json.dumps(value, ensure_ascii=False, indent=1) + "\n")
    put("config.json", {
        "model_type": "bert", "architectures": ["BertModel"], "hidden_act": "gelu", "hidden_size": hidden,
        "intermediate_size": inner, "num_hidden_layers": layers, "num_attention_heads": 3, "layer_norm_eps": 1e-12,
        "max_position_embeddings": positions, "type_vocab_size": 2, "vocab_size": len(vocab),
        "position_embedding_type": "absolute",
    })
    special = lambda name: {"id": vocab.index(name), "content": name, "single_word": False, "lstrip": False,
                            "rstrip": False, "normalized": False, "special": True}
    token = lambda name: {"SpecialToken": {"id": name, "type_id": 0}}
    put("tokenizer.json", {
        "version": "1.0", "added_tokens": [special(x) for x in vocab[:5]],
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                       "strip_accents": None, "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing", "single": [token("[CLS]"), {"Sequence": {"id": "A", "type_id": 0}}, token("[SEP]")],
            "pair": [],
            "special_tokens": {x: {"id": x, "ids": [vocab.index(x)], "tokens": [x]} for x in ("[CLS]", "[SEP]")},
        },
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": {x: i for i, x in enumerate(vocab)}},
    })
    put("modules.json", [
        {"idx": i, "name": str(i), "path": path, "type": "sentence_transformers.models." + kind}
        for i, (path, kind) in enumerate([("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")])
    ])
    put("1_Pooling/config.json", {"word_embedding_dimension": hidden, "pooling_mode_mean_tokens": True})
    put("sentence_bert_config.json", {"max_seq_length": 32, "do_lower_case": False})


if __name__ == "__main__":
    out = sys.argv[1]
    tiny(out + "/tiny")
    golden(out + "/tiny.json", out + "/tiny", TEXTS, 32, False, True, 6)
    normalizers(out + "/normalizers.json", out + "/tiny")
    if len(sys.argv) > 2:
        golden(out + "/minilm.json", sys.argv[2], TEXTS, 256, False, True, 4)
