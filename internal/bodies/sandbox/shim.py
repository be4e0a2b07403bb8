# The Python side of a worker: it loads functions and calls them on batches of rows.
# Frames come from standard input and leave by standard output; both are moved to other
# descriptors first, so that what the code prints goes to standard error.
# frame.go and column.go describe the frames. It needs Python 3.9 and no packages.
import array
import io
import json
import os
import struct
import sys
import types
import _thread
from _thread import _count as count_threads

LOAD, CALL = 1, 2
LOADED, DONE, FAILED, LEFT = 1, 2, 3, 128

requests, replies = os.dup(0), os.dup(1)
nothing = os.open(os.devnull, os.O_RDONLY)
os.dup2(nothing, 0)
os.close(nothing)
os.dup2(2, 1)
sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), encoding="utf-8", errors="backslashreplace", line_buffering=True)
_write, _exit = os.write, os._exit


def receive(size):
    data = bytearray(size)
    view, got = memoryview(data), 0
    while got < size:
        n = os.readv(requests, [view[got:]]) if hasattr(os, "readv") else read_into(view[got:])
        if n == 0:
            _exit(0)
        got += n
    return view


def read_into(view):
    data = os.read(requests, len(view))
    view[: len(data)] = data
    return len(data)


def send(kind, call, payload):
    data = struct.pack("<IBQ", len(payload), kind, call) + payload
    n = _write(replies, data)
    if n < len(data):
        view = memoryview(data)
        while n < len(data):
            n += _write(replies, view[n:])


def forked():
    """Takes the frames from a process that the code forks: it must not answer, nor read requests."""
    global send, receive
    send = receive = leave
    for descriptor in (requests, replies):
        try:
            os.close(descriptor)
        except OSError:
            pass


def leave(*_):
    _exit(0)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forked)


start_thread = _thread.start_new_thread


def start_new_thread(function, args, kwargs={}):
    """Starts a thread, and waits until it runs: it is not counted before."""
    waiting = _thread.allocate_lock()
    waiting.acquire()
    ident = start_thread(begin_thread, (waiting, function, *args), kwargs)
    waiting.acquire()
    return ident


def begin_thread(waiting, function, /, *args, **kwargs):
    waiting.release()
    function(*args, **kwargs)


_thread.start_new_thread = _thread.start_new = start_new_thread


class Refused(Exception):
    """A result of the wrong type or out of range, or an error that the code returned."""


class Failure(Exception):
    """The description of an error, for the reply."""


# Types. A type is a dict with its kind "k"; the comments of types.go list them.

RANGES = {"b": (-(1 << 7), (1 << 7) - 1), "h": (-(1 << 15), (1 << 15) - 1), "i": (-(1 << 31), (1 << 31) - 1), "q": (-(1 << 63), (1 << 63) - 1)}
RANGES.update({code.upper(): (0, (1 << bits) - 1) for code, bits in (("b", 8), ("h", 16), ("i", 32), ("q", 64))})
WANTED = {"int": "an int", "float": "a float", "bool": "a bool", "text": "a str", "bytes": "bytes", "json": "what json.dumps takes",
          "date": "a datetime.date", "timestamp": "a datetime.datetime", "time": "a datetime.time", "decimal": "a decimal.Decimal or an int",
          "list": "a list", "struct": "a dict", "map": "a dict", "interval": "a datetime.timedelta", "null": "None"}


def show(value):
    try:
        text = repr(value)
    except Exception:
        text = "a value"
    return text if len(text) <= 80 else text[:77] + "..."


def wrong(t, value, where):
    place = " in " + where if where else ""
    return Refused("returned the %s %s%s; %s needs %s" % (type(value).__name__, show(value), place, t["name"], WANTED[t["k"]]))


def out_of_range(t, value, where, bounds):
    place = " in " + where if where else ""
    return Refused("returned %s%s, which is out of the range of %s: %s" % (show(value), place, t["name"], bounds))


def plain(value):
    """Turns a value of numpy or pandas into one of Python."""
    module = type(value).__module__
    if module.startswith("pandas"):
        if type(value).__name__ in ("NaTType", "NAType"):
            return None
        if hasattr(value, "to_pydatetime"):
            return value.to_pydatetime()
        if hasattr(value, "to_dict") and hasattr(value, "columns"):
            return value.to_dict("records")
        if hasattr(value, "to_pytimedelta"):
            return value.to_pytimedelta()
    if hasattr(value, "tolist") and (module.startswith("numpy") or module.startswith("pandas")):
        return value.tolist()
    return value


def to_int(t, v, where):
    if type(v) is not int:
        v = plain(v)
    if isinstance(v, bool) or not isinstance(v, int):
        raise wrong(t, v, where)
    low, high = RANGES[t["code"]]
    if not low <= v <= high:
        raise out_of_range(t, v, where, "%d to %d" % (low, high))
    return int(v)


def to_float(t, v, where):
    if type(v) is not float:
        v = plain(v)
    if isinstance(v, bool) or not isinstance(v, (int, float)):
        raise wrong(t, v, where)
    try:
        v = float(v)
        if t["code"] == "f":
            struct.pack("<f", v)
    except OverflowError:
        raise out_of_range(t, v, where, "it is too large") from None
    return v


def to_bool(t, v, where):
    if type(v) is not bool:
        v = plain(v)
        if type(v) is not bool:
            raise wrong(t, v, where)
    return v


def to_text(t, v, where):
    if not isinstance(v, str):
        raise wrong(t, v, where)
    try:
        v.encode()
    except UnicodeEncodeError:
        raise Refused("returned the str %s, which is not Unicode: it has a lone surrogate" % show(v)) from None
    return str(v)


def to_bytes(t, v, where):
    if not isinstance(v, (bytes, bytearray, memoryview)):
        raise wrong(t, v, where)
    return bytes(v)


def to_json(t, v, where):
    try:
        return json.dumps(plain(v), ensure_ascii=False, allow_nan=False, default=plain_json)
    except (TypeError, ValueError) as e:
        place = " in " + where if where else ""
        raise Refused("returned a value%s that is not JSON: %s" % (place, e)) from None


def plain_json(v):
    p = plain(v)
    if p is not v:
        return p
    if hasattr(v, "isoformat"):
        return v.isoformat()
    raise TypeError("Object of type %s is not JSON serializable" % type(v).__name__)


def nested_float(t, v, where):
    v = to_float(t, v, where)
    return v if v - v == 0 else repr(v)


def nested_bytes(t, v, where):
    import binascii
    return binascii.b2a_base64(to_bytes(t, v, where), newline=False).decode()


def to_date(t, v, where):
    import datetime
    if isinstance(v, datetime.datetime) or not isinstance(v, datetime.date):
        raise wrong(t, v, where)
    return v.toordinal() - 719163


UNITS = {"s": 1, "ms": 1000, "us": 1000000, "ns": 1000000000}


def to_timestamp(t, v, where):
    import datetime
    v = plain(v)
    if not isinstance(v, datetime.datetime):
        raise wrong(t, v, where)
    zoned = v.utcoffset() is not None
    if zoned != t["tz"]:
        need = "one with a time zone" if t["tz"] else "one without a time zone"
        raise Refused("returned the datetime %s; %s needs %s" % (v.isoformat(), t["name"], need))
    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc if zoned else None)
    us = (v - epoch) // datetime.timedelta(microseconds=1)
    return us * 1000 if t["unit"] == "ns" else us // (1000000 // UNITS[t["unit"]])


def to_time(t, v, where):
    import datetime
    if not isinstance(v, datetime.time) or v.tzinfo is not None:
        raise wrong(t, v, where)
    us = ((v.hour * 60 + v.minute) * 60 + v.second) * 1000000 + v.microsecond
    return us * 1000 if t["unit"] == "ns" else us


def to_decimal(t, v, where):
    import decimal
    if isinstance(v, bool) or not isinstance(v, (int, decimal.Decimal)):
        v = plain(v)
        if isinstance(v, bool) or not isinstance(v, (int, decimal.Decimal)):
            raise wrong(t, v, where)
    context = decimal.Context(prec=100, rounding=decimal.ROUND_HALF_UP)
    try:
        d = decimal.Decimal(v).quantize(decimal.Decimal(1).scaleb(-t["scale"]), context=context)
    except decimal.InvalidOperation:
        raise out_of_range(t, v, where, "it has too many digits") from None
    if not d.is_finite() or abs(d) >= decimal.Decimal(10) ** (t["precision"] - t["scale"]):
        raise out_of_range(t, v, where, "at most %d digits before the point" % (t["precision"] - t["scale"]))
    return format(d, "f")


def to_interval(t, v, where):
    import datetime
    v = plain(v)
    if not isinstance(v, datetime.timedelta):
        raise wrong(t, v, where)
    # timedelta(microseconds=-1) has -1 days and almost one more: SQL has no such interval.
    sign, v = (-1, -v) if v.days < 0 else (1, v)
    return {"months": 0, "days": sign * v.days, "nanoseconds": sign * (v.seconds * 1000000 + v.microseconds) * 1000}


def to_list(t, v, where):
    v = plain(v)
    if isinstance(v, (str, bytes, dict)) or not hasattr(v, "__iter__"):
        raise wrong(t, v, where)
    item = t["item"]
    convert = TO_JSON[item["k"]]
    out = []
    for i, x in enumerate(v):
        out.append(None if x is None else convert(item, x, "%s[%d]" % (where, i)))
    size = t.get("size", -1)
    if 0 <= size != len(out):
        raise Refused("returned a list of %d values; %s needs %d" % (len(out), t["name"], size))
    return out


def to_struct(t, v, where):
    if not isinstance(v, dict):
        v = v._asdict() if hasattr(v, "_asdict") else getattr(v, "__dict__", v)
        if not isinstance(v, dict):
            raise wrong(t, v, where)
    out, place = {}, " in " + where if where else ""
    for f in t["fields"]:
        name = f["field"]
        if name not in v:
            raise Refused("returned a dict without %r%s; %s needs it (None is NULL)" % (name, place, t["name"]))
        x = v[name]
        out[name] = None if x is None else TO_JSON[f["k"]](f, x, where + "." + name if where else name)
    if len(v) != len(out):
        extra = sorted(str(k) for k in v if k not in out)[0]
        raise Refused("returned a dict with %r%s, which %s does not have" % (extra, place, t["name"]))
    return out


def to_map(t, v, where):
    if not isinstance(v, dict):
        raise wrong(t, v, where)
    key, item = t["key"], t["item"]
    return [{"key": TO_JSON[key["k"]](key, k, where + " key"),
             "value": None if x is None else TO_JSON[item["k"]](item, x, "%s[%s]" % (where, show(k)))} for k, x in v.items()]


def to_null(t, v, where):
    raise wrong(t, v, where)


TO_JSON = {"int": to_int, "float": nested_float, "bool": to_bool, "text": to_text, "json": to_json, "bytes": nested_bytes,
           "date": to_date, "timestamp": to_timestamp, "time": to_time, "decimal": to_decimal, "interval": to_interval,
           "list": to_list, "struct": to_struct, "map": to_map, "null": to_null}


def reader(t):
    """Returns what turns a decoded JSON value into one of the type; None: it is one."""
    k = t["k"]
    if k == "json":
        return json.loads
    if k == "float":
        return lambda v: float(v)
    if k == "bytes":
        import binascii
        return binascii.a2b_base64
    if k == "date":
        import datetime
        make = datetime.date.fromordinal
        return lambda v: make(v + 719163)
    if k == "timestamp":
        import datetime
        epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc if t["tz"] else None)
        delta, scale = datetime.timedelta, 1000000 // UNITS[t["unit"]]
        if scale == 0:
            return lambda v: epoch + delta(microseconds=v // 1000)
        return lambda v: epoch + delta(microseconds=v * scale)
    if k == "time":
        import datetime
        per = 1000 if t["unit"] == "ns" else 1
        start, day = datetime.datetime(1970, 1, 1), 86400000000

        def clock(v):
            if v // per == day:
                raise Refused("got the time 24:00:00, which Python's datetime.time does not have")
            return (start + datetime.timedelta(microseconds=v // per)).time()
        return clock
    if k == "decimal":
        import decimal
        return decimal.Decimal
    if k == "interval":
        return interval
    if k == "list":
        item = reader(t["item"])
        return item and (lambda v: [None if x is None else item(x) for x in v])
    if k == "struct":
        parts = [(f["field"], reader(f)) for f in t["fields"]]
        parts = [p for p in parts if p[1]]
        return parts and (lambda v: fill(v, parts))
    if k == "map":
        key, item = reader(t["key"]), reader(t["item"])
        return lambda v: {key(e["key"]) if key else e["key"]: item(e["value"]) if item and e["value"] is not None else e["value"] for e in v}
    return None


def fill(v, parts):
    for name, read in parts:
        if v[name] is not None:
            v[name] = read(v[name])
    return v


def interval(v):
    if v["months"]:
        return v
    import datetime
    return datetime.timedelta(days=v["days"], microseconds=v["nanoseconds"] // 1000)


# Columns

JOINED, OFFSETS = 1, 2


def column(t, rows, form, nulls, data):
    """Returns the values of an argument."""
    k = t["k"]
    if k == "int" or k == "float":
        values = data.cast(t["code"]).tolist()
    elif k == "bool":
        values = list(map(bool, data))
    elif form == JOINED:
        values = str(data, "utf-8").split("\0")
    elif form == OFFSETS:
        ends = data[: 4 * rows].cast("I").tolist()
        data, start, values = data[4 * rows:], 0, []
        for end in ends:
            part = data[start:end]
            values.append(bytes(part) if k == "bytes" else str(part, "utf-8"))
            start = end
    else:
        values = json.loads(bytes(data))
    for i in nulls:
        values[i] = None
    if k not in PLAIN:
        read = reader(t)
        if read:
            values = [None if v is None else read(v) for v in values]
    return values


PLAIN = {"int", "float", "bool", "text", "bytes"}


def fast(t, out):
    """Returns form and data of results without nulls that need no conversion, or None."""
    k, kinds = t["k"], set(map(type, out))
    try:
        if k == "int" and kinds == {int}:
            return 0, array.array(t["code"], out).tobytes()
        if k == "float" and kinds <= {float, int}:
            return (0, array.array("d", out).tobytes()) if t["code"] == "d" else (0, struct.pack("<%df" % len(out), *out))
        if k == "bool" and kinds == {bool}:
            return 0, bytes(out)
        if k == "text" and kinds == {str}:
            return texts(out)
    except (OverflowError, UnicodeEncodeError, struct.error):
        pass
    return None


def texts(out):
    joined = "\0".join(out)
    if joined.count("\0") == len(out) - 1:
        return JOINED, joined.encode()
    return parts([s.encode() for s in out])


def parts(encoded):
    ends, total = array.array("I"), 0
    for e in encoded:
        total += len(e)
        ends.append(total)
    return OFFSETS, ends.tobytes() + b"".join(encoded)


SLOW = {"int": to_int, "float": to_float, "bool": to_bool, "text": to_text, "bytes": to_bytes, "json": to_json}
EMPTY = {"int": 0, "float": 0.0, "bool": False, "text": "", "bytes": b"", "json": ""}


def pack(t, out, current):
    """Returns the reply's column. current[0] is the row that it is at."""
    nulls = b""
    packed = fast(t, out)
    if packed is None:
        k, missing = t["k"], array.array("I")
        convert, whole = SLOW.get(k) or TO_JSON[k], k not in EMPTY
        for i, v in enumerate(out):
            current[0] = i
            v = unwrap(t, v)
            if v is None:
                missing.append(i)
                out[i] = None if whole else EMPTY[k]
            else:
                v = convert(t, v, "")
                out[i] = v
        current[0] = None
        nulls = missing.tobytes()
        if whole:
            packed = 0, json.dumps(out, ensure_ascii=True, allow_nan=False).encode()
        elif k == "json":
            packed = texts(out)
        elif k == "bytes":
            packed = parts(out)
        else:
            packed = fast(t, out)
    form, data = packed
    return struct.pack("<BII", form, len(nulls) // 4, len(data)) + nulls + data


def unwrap(t, v):
    """Returns the value of a ToolResponse, or of a dict like one."""
    if type(v) is dict:
        if v and t.get("unwrap", True) and "success" in v and set(v) <= {"success", "data", "error"}:
            return response(v["success"], v.get("data"), v.get("error"))
        return v
    if hasattr(v, "success") and hasattr(v, "data"):
        return response(v.success, v.data, getattr(v, "error", None))
    return v


def response(success, data, error):
    if not success:
        raise Refused(str(error) if error else "the code answered success: False without an error")
    return data


# Functions

LOOP = """
def run({columns}, rows, append, f):
    for {each} in {source}:
        append(f({call}))
"""
ASYNC_LOOP = """
async def run({columns}, rows, append, f):
    for {each} in {source}:
        append(await f({call}))
"""


class Function:
    def __init__(self, spec):
        self.spec = spec
        self.file = spec["file"]
        self.types = [a["type"] for a in spec["args"]]
        self.returns = spec["returns"]
        self.module = load(spec)
        self.entry = self.find()
        self.run = None
        self.asynchronous = False
        self.prepare()

    def find(self):
        name = self.spec["entrypoint"]
        found = getattr(self.module, name, None)
        if callable(found):
            return found
        defined = sorted(k for k, v in vars(self.module).items() if isinstance(v, types.FunctionType) and v.__module__ == self.module.__name__)
        raise Failure({"kind": "entrypoint", "message": "the code has no function %s" % name, "defined": defined[:20]})

    def prepare(self):
        names = [a["name"] for a in self.spec["args"]]
        call = arguments(self.entry, names)
        if "arrow" in self.spec:
            return self.prepare_arrow(call)
        code = getattr(getattr(self.entry, "__func__", self.entry), "__code__", None)
        self.asynchronous = bool(code and code.co_flags & 0x80)
        if not self.asynchronous and code is None:
            import inspect
            self.asynchronous = inspect.iscoroutinefunction(self.entry)
        count = len(names)
        columns = ", ".join("c%d" % i for i in range(count)) or "none"
        each = ", ".join("a%d" % i for i in range(count)) or "_"
        source = "range(rows)" if not count else "c0" if count == 1 else "zip(%s)" % columns
        scope = {}
        text = (ASYNC_LOOP if self.asynchronous else LOOP).format(columns=columns, each=each, source=source, call=call)
        exec(compile(text, "<loop>", "exec"), scope)
        self.run = scope["run"]

    def prepare_arrow(self, call):
        """Prepares calls with the columns of a batch as arrays of pyarrow."""
        import binascii
        import pyarrow
        self.arrow = pyarrow
        self.schema = pyarrow.ipc.open_stream(binascii.a2b_base64(self.spec["arrow"])).schema
        columns = ", ".join("a%d" % i for i in range(len(self.types)))
        self.run = eval("lambda f, rows%s: f(%s)" % (", " + columns if columns else "", call))
        self.call = self.call_arrow

    def call_arrow(self, payload):
        pyarrow, wanted = self.arrow, self.schema.field(0).type
        try:
            batch = pyarrow.ipc.open_stream(payload).read_next_batch()
            values = self.run(self.entry, batch.num_rows, *batch.columns)
            if hasattr(values, "__await__"):
                values = wait(values)
            if isinstance(values, pyarrow.ChunkedArray):
                values = values.combine_chunks()
            values = values.cast(wanted) if isinstance(values, pyarrow.Array) else pyarrow.array(values, wanted)
            sink = pyarrow.BufferOutputStream()
            with pyarrow.ipc.new_stream(sink, self.schema) as stream:
                stream.write_batch(pyarrow.record_batch([values], schema=self.schema))
        except BaseException as e:
            raise Failure(describe(e, self.file)) from None
        reply = sink.getvalue().to_pybytes()
        if len(reply) > self.spec["output"]:
            raise Failure({"kind": "refused", "message": "the results take %d bytes; the limit is %d" % (len(reply), self.spec["output"])})
        return reply

    def call(self, payload):
        rows, at, columns = struct.unpack_from("<I", payload)[0], 4, []
        out, current = [], [None]
        try:
            for t in self.types:
                form, nulls, size = struct.unpack_from("<BII", payload, at)
                at += 9
                missing = payload[at: at + 4 * nulls].cast("I") if nulls else ()
                at += 4 * nulls
                columns.append(column(t, rows, form, missing, payload[at: at + size]))
                at += size
            if not columns:
                columns.append(None)
            if self.asynchronous:
                wait(self.run(*columns, rows, out.append, self.entry))
            else:
                self.run(*columns, rows, out.append, self.entry)
            current[0] = len(out)
            reply = pack(self.returns, out, current)
        except BaseException as e:
            row = current[0] if current[0] is not None else len(out) if len(out) < rows else None
            if isinstance(e, Refused):
                failure = {"kind": "refused", "message": str(e)}
            else:
                failure = describe(e, self.file)
            if row is not None and len(columns):
                failure["row"] = row
            raise Failure(failure) from None
        if len(reply) > self.spec["output"]:
            raise Failure({"kind": "refused", "message": "the results take %d bytes; the limit is %d" % (len(reply), self.spec["output"])})
        return reply


def arguments(entry, names):
    """Returns the arguments of a call in the loop: by position where that is the same."""
    code = getattr(entry, "__code__", None)
    if code is not None and not hasattr(entry, "__wrapped__"):
        wanted, keywords = list(code.co_varnames[: code.co_argcount]), list(code.co_varnames[code.co_argcount: code.co_argcount + code.co_kwonlyargcount])
        optional = set(wanted[len(wanted) - len(entry.__defaults__ or ()):]) if entry.__defaults__ else set()
        optional |= set(entry.__kwdefaults__ or {})
        anything = bool(code.co_flags & 0x08)
    else:
        import inspect
        try:
            parameters = inspect.signature(entry).parameters.values()
        except (TypeError, ValueError):
            return ", ".join("a%d" % i for i in range(len(names)))
        wanted = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        keywords = [p.name for p in parameters if p.kind == p.KEYWORD_ONLY]
        optional = {p.name for p in parameters if p.default is not p.empty}
        anything = any(p.kind == p.VAR_KEYWORD for p in parameters)
    known = set(wanted) | set(keywords)
    unknown = [n for n in names if n not in known]
    missing = [p for p in wanted + keywords if p not in optional and p not in names]
    shown = ", ".join(wanted + keywords) or "none"
    if unknown and not anything:
        raise Failure({"kind": "parameters", "message": "the signature has the argument %s, and the function has no such parameter (its parameters: %s)" % (unknown[0], shown)})
    if missing:
        raise Failure({"kind": "parameters", "message": "the function needs the parameter %s, which is not an argument of the signature" % missing[0]})
    if wanted[: len(names)] == names:
        return ", ".join("a%d" % i for i in range(len(names)))
    if all(n.isidentifier() for n in names):
        return ", ".join("%s=a%d" % (n, i) for i, n in enumerate(names))
    return "**{%s}" % ", ".join("%r: a%d" % (n, i) for i, n in enumerate(names))


def load(spec):
    """Executes the code as a module. Functions with the same file and code share it."""
    key = (spec["file"], spec["source"])
    if key in modules:
        return modules[key]
    import linecache
    module = types.ModuleType("spiced_function_%d" % len(modules))
    source, file = spec["source"], spec["file"]
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    sys.modules[module.__name__] = module
    module.__file__ = file
    try:
        exec(compile(source, file, "exec", dont_inherit=True), module.__dict__)
    except BaseException as e:
        del sys.modules[module.__name__]
        raise Failure(describe(e, file)) from None
    modules[key] = module
    return module


modules, functions, loops = {}, {}, []
SETTLE = 4  # turns of the loop after a call: closing a generator takes two


def wait(coroutine):
    """Runs a coroutine, then the callbacks that are due, and ends the threads of asyncio.to_thread."""
    import asyncio
    from concurrent.futures import ThreadPoolExecutor
    if not loops:
        loops.append(asyncio.new_event_loop())
        loops.append(ThreadPoolExecutor())
        loops[0].set_default_executor(loops[1])
        asyncio.set_event_loop(loops[0])
    try:
        return loops[0].run_until_complete(coroutine)
    finally:
        for _ in range(SETTLE):
            if not getattr(loops[0], "_ready", None):
                break
            loops[0].call_soon(loops[0].stop)
            loops[0].run_forever()
        if count_threads():
            loops[1].shutdown()
            loops[1] = ThreadPoolExecutor()
            loops[0].set_default_executor(loops[1])


started = set()  # the threads that the code starts when it is loaded


def threads():
    """Returns the other threads."""
    if not count_threads():
        return set()
    import threading
    return set(sys._current_frames()) - {threading.get_ident()}


MOST_OPEN = 128  # descriptors, of which a worker may keep some between calls, such as connections


def crowded():
    """Reports whether so many descriptors are open that later calls might get none."""
    try:
        lowest = os.dup(1)
        os.close(lowest)
    except OSError:
        return True
    return lowest > MOST_OPEN


def left():
    """Reports whether a call left threads, tasks or callbacks, which would run during other calls, or too many open files."""
    if crowded():
        return True
    running = threads()
    started.intersection_update(running)
    if running != started or count_threads() > len(started):  # some have no frame
        return True
    if not loops:
        return False
    import asyncio
    callbacks = (*getattr(loops[0], "_ready", ()), *getattr(loops[0], "_scheduled", ()))
    return bool(asyncio.all_tasks(loops[0])) or not all(c.cancelled() for c in callbacks)


def describe(e, file):
    """Describes an exception: its class, message, and the last line of the code that it passed."""
    failure = {"kind": "exception", "class": type(e).__name__}
    try:
        failure["message"] = str(e)[:4000]
    except BaseException:
        failure["message"] = ""
    if isinstance(e, SyntaxError) and e.filename == file:
        failure.update(kind="syntax", message=e.msg, line=e.lineno or 0, column=e.offset or 0)
        return failure
    if isinstance(e, ModuleNotFoundError) and e.name:
        failure["module"] = e.name
    if isinstance(e, OSError) and e.errno:
        failure["errno"] = e.errno
    trace = e.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            failure["line"] = trace.tb_lineno
        trace = trace.tb_next
    return failure


def main():
    while True:
        size, kind, function, call = struct.unpack("<IBIQ", receive(17))
        payload = receive(size)
        try:
            if kind == LOAD:
                functions[function] = Function(json.loads(bytes(payload)))
                started.update(threads())
                answer, reply = LOADED, b""
            else:
                answer, reply = DONE, functions[function].call(payload)
        except Failure as e:
            answer, reply = FAILED, json.dumps(e.args[0]).encode()
        except BaseException as e:
            answer, reply = FAILED, json.dumps(describe(e, "")).encode()
        try:
            sys.stdout.flush()
        except BaseException:
            pass
        if left():
            answer |= LEFT
        send(answer, call, reply)
        payload = reply = None


# The names of jazzmine.core.tools, for code that was written for it.

class ToolParameter:
    def __init__(self, name, type="str", description="", required=True, **more):
        self.name, self.type, self.description, self.required = name, type, description, required


class ToolResponse:
    def __init__(self, success=True, data=None, error=None, **more):
        self.success, self.data, self.error = success, data, error


class SandboxConfig:
    def __init__(self, name="default", dependencies=(), secrets=(), **more):
        self.name, self.dependencies, self.secrets = name, list(dependencies), list(secrets)


class Registry:
    def __init__(self):
        self.sandboxes, self.tools = {"default": SandboxConfig()}, {}

    def register_sandbox(self, config):
        self.sandboxes[config.name] = config

    def _all(self, sandbox, attribute):
        entries = [self.sandboxes[sandbox]] + [t for t in self.tools.values() if t.__tool__["sandbox"] == sandbox]
        return sorted({x for e in entries for x in (getattr(e, attribute, None) or getattr(e, "__tool__", {}).get(attribute, ()))})

    def aggregate_dependencies(self, sandbox_name):
        return self._all(sandbox_name, "dependencies")

    def aggregate_secrets(self, sandbox_name):
        return self._all(sandbox_name, "secrets")

    def build_tools_prompt(self, sandbox_name=None):
        from html import escape
        shown = [(n, t.__tool__) for n, t in sorted(self.tools.items()) if sandbox_name in (None, t.__tool__["sandbox"])]
        return "<tools>%s</tools>" % "".join("<tool><name>%s</name><description>%s</description></tool>" % (escape(n), escape(d["description"])) for n, d in shown)


def tool(description, parameters=(), dependencies=(), secrets=(), sandbox="default", name=None):
    def mark(fn):
        fn.__tool__ = {"description": description, "parameters": list(parameters), "dependencies": list(dependencies), "secrets": list(secrets), "sandbox": sandbox}
        jazzmine.registry.tools[name or fn.__name__] = fn
        return fn
    if callable(description):  # @tool without arguments
        fn, description = description, description.__doc__ or ""
        return mark(fn)
    return mark


def stub():
    """Makes jazzmine.core.tools importable, unless it is installed."""
    import importlib.util
    if importlib.util.find_spec("jazzmine") is not None:
        return types.SimpleNamespace(registry=Registry())
    package, core, tools = types.ModuleType("jazzmine"), types.ModuleType("jazzmine.core"), types.ModuleType("jazzmine.core.tools")
    package.__path__ = core.__path__ = []
    package.core, core.tools = core, tools
    for thing in (tool, ToolParameter, ToolResponse, SandboxConfig):
        setattr(tools, thing.__name__, thing)
    tools.registry = Registry()
    sys.modules.update({"jazzmine": package, "jazzmine.core": core, "jazzmine.core.tools": tools})
    return tools


jazzmine = stub()
main()
