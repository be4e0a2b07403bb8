"""Parses the code of functions, and runs none of it.

Standard input is a JSON list of sources; standard output is a JSON list with what is
known of each. Positions are offsets of bytes in the source as UTF-8.
"""
import ast
import importlib.machinery
import json
import re
import sys
import warnings

try:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
    resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
except Exception:
    pass
warnings.simplefilter("ignore")
MOST = 1000  # imports and definitions of a source


def offsets(source):
    """Returns the offset of each line, as Python counts lines."""
    starts, at = [0], 0
    for piece in re.split("(\r\n|\r|\n)", source):
        at += len(piece.encode())
        if piece in ("\r\n", "\r", "\n"):
            starts.append(at)
    return starts


def is_standard(name):
    if name in sys.builtin_module_names or name in getattr(sys, "stdlib_module_names", ()):
        return True
    try:
        return importlib.machinery.PathFinder.find_spec(name) is not None
    except Exception:
        return False


def syntax_error(source, starts, error):
    at = 0
    if error.lineno and error.lineno <= len(starts):
        at = starts[error.lineno - 1]
        line = re.split("\r\n|\r|\n", source)[error.lineno - 1]
        at += len(line[: max((error.offset or 1) - 1, 0)].encode())
    return {"message": str(error.msg), "offset": at}


class Reader:
    def __init__(self, source, starts):
        self.starts = starts
        self.lines = source.encode()
        self.defined, self.functions, self.imports, self.sandboxes = [], {}, [], []
        self.decorators, self.modules = set(), set()

    def at(self, node):
        return self.starts[node.lineno - 1] + node.col_offset

    def module(self, body):
        """Reads the statements that run when the module is imported."""
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.functions[node.name] = self.function(node)
            elif isinstance(node, ast.ClassDef):
                self.defined.append(node.name)
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                for alias in node.names:
                    self.defined.append((alias.asname or alias.name).split(".")[0])
            elif isinstance(node, (ast.Assign, ast.AnnAssign)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                self.defined.extend(t.id for t in targets if isinstance(t, ast.Name))
            elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and getattr(node.value.func, "attr", "") == "register_sandbox":
                self.sandboxes.append(self.sandbox(node.value))
            for name in ("body", "orelse", "finalbody"):
                if isinstance(node, (ast.If, ast.Try, ast.With, ast.For, ast.While)):
                    self.module(getattr(node, name, []))
            for handler in getattr(node, "handlers", []):
                self.module(handler.body)

    def function(self, node):
        a = node.args
        required = len(a.posonlyargs) + len(a.args) - len(a.defaults)
        parameters = []
        for i, p in enumerate(a.posonlyargs + a.args):
            parameters.append({"name": p.arg, "required": i < required, "positional": i < len(a.posonlyargs), "offset": self.at(p)})
        for p, default in zip(a.kwonlyargs, a.kw_defaults):
            parameters.append({"name": p.arg, "required": default is None, "positional": False, "offset": self.at(p)})
        name = self.lines.find(node.name.encode(), self.at(node))
        return {
            "offset": name if name >= 0 else self.at(node),
            "parameters": parameters,
            "any": a.kwarg is not None,
            "returns": node.returns is not None,
            "async": isinstance(node, ast.AsyncFunctionDef),
            "tool": self.tool(node),
        }

    def find_decorators(self, tree):
        """Finds the names by which the code reaches the decorator jazzmine.core.tools.tool."""
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "jazzmine":
                for alias in node.names:
                    if alias.name in ("tool", "*"):
                        self.decorators.add(alias.asname or "tool")
                    elif alias.name in ("core", "tools"):
                        self.modules.add(alias.asname or alias.name)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name.split(".")[0] == "jazzmine":
                        self.modules.add(alias.asname or "jazzmine")

    def is_tool(self, node):
        if isinstance(node, ast.Name):
            return node.id in self.decorators
        if not isinstance(node, ast.Attribute) or node.attr != "tool":
            return False
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and node.id in self.modules

    def tool(self, node):
        """Returns the arguments of the decorator @tool(...), or None."""
        for d in node.decorator_list:
            if isinstance(d, ast.Call) and self.is_tool(d.func):
                named = self.arguments(d, ("description", "parameters", "dependencies", "secrets", "sandbox", "name"))
                return dict(named, offset=self.at(d))
            if self.is_tool(d):
                return {"offset": self.at(d)}
        return None

    def sandbox(self, call):
        """Returns the name in registry.register_sandbox(SandboxConfig("name", ...))."""
        for value in call.args + [k.value for k in call.keywords]:
            if isinstance(value, ast.Call):
                return self.arguments(value, ("name",)).get("name", {"offset": self.at(call)})
        return {"offset": self.at(call)}

    def arguments(self, call, names):
        found = {}
        for name, value in zip(names, call.args):
            found[name] = self.argument(value)
        for k in call.keywords:
            found[k.arg or "**"] = self.argument(k.value)
        return found

    def argument(self, node):
        """Returns an argument: a text, texts, or the ToolParameters of a list."""
        answer = {"offset": self.at(node)}
        if isinstance(node, (ast.List, ast.Tuple)) and node.elts and all(isinstance(e, (ast.Call, ast.Dict)) for e in node.elts):
            answer["parameters"] = [dict(self.parameter(e), offset=self.at(e)) for e in node.elts]
            return answer
        try:
            value = ast.literal_eval(node)
        except Exception:
            return answer
        if isinstance(value, str):
            answer["text"] = value
        elif isinstance(value, bool):
            answer["flag"] = value
        elif isinstance(value, (list, tuple)) and all(isinstance(x, str) for x in value):
            answer["texts"] = list(value)
        return answer

    def parameter(self, node):
        """Returns the arguments of a ToolParameter, or the items of a dict in its place."""
        if isinstance(node, ast.Call):
            return self.arguments(node, ("name", "type", "description", "required"))
        return {k.value: self.argument(v) for k, v in zip(node.keys, node.values) if isinstance(k, ast.Constant) and isinstance(k.value, str)}

    def find_imports(self, node, guarded):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                for alias in child.names:
                    self.imported(alias.name, child, guarded)
            elif isinstance(child, ast.ImportFrom):
                self.imported("." * child.level + (child.module or ""), child, guarded)
            elif isinstance(child, ast.Try):
                for part in child.body:
                    wrapper = ast.Module(body=[part], type_ignores=[])
                    self.find_imports(wrapper, guarded or bool(child.handlers))
                for part in child.handlers + child.orelse + child.finalbody:
                    wrapper = ast.Module(body=[part], type_ignores=[])
                    self.find_imports(wrapper, guarded)
            elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
                for part in child.orelse:
                    self.find_imports(ast.Module(body=[part], type_ignores=[]), guarded)
            else:
                self.find_imports(child, guarded)

    def imported(self, name, node, guarded):
        top = name.split(".")[0]
        if guarded or top and is_standard(top):
            return
        self.imports.append({"name": name if name.startswith(".") else top, "full": name, "offset": self.at(node)})


def read(source):
    starts = offsets(source)
    try:
        tree = ast.parse(source)
        compile(source, "body", "exec", dont_inherit=True)
    except SyntaxError as error:
        return {"error": syntax_error(source, starts, error)}
    except RecursionError:
        return {"error": {"message": "the code is nested too deeply", "offset": 0}}
    except MemoryError:
        return {"error": {"message": "parsing the code takes too much memory", "offset": 0}}
    except ValueError as error:
        return {"error": {"message": str(error), "offset": max(source.find("\0"), 0)}}
    reader = Reader(source, starts)
    try:
        reader.find_decorators(tree)
        reader.module(tree.body)
        reader.find_imports(tree, False)
    except RecursionError:
        return {"error": {"message": "the code is nested too deeply", "offset": 0}}
    return {"functions": dict(list(reader.functions.items())[:MOST]), "defined": reader.defined[:MOST], "imports": reader.imports[:MOST], "sandboxes": reader.sandboxes[:MOST]}


sys.stdin.reconfigure(encoding="utf-8")
json.dump([read(source) for source in json.load(sys.stdin)], sys.stdout)
