"""Lists the top-level modules of the folder of packages in its argument, as JSON."""
import json
import sys
from importlib.metadata import distributions

names = set()
for distribution in distributions(path=[sys.argv[1]]):
    for file in distribution.files or ():
        top = file.parts[0]
        name = top.split(".")[0] if len(file.parts) == 1 else top
        if name.isidentifier() and name != "__pycache__" and file.suffix in (".py", ".pyi", ".so", ".pyd", ".pyc"):
            names.add(name)
json.dump(sorted(names), sys.stdout)
