"""Describes the interpreter that runs it, as JSON."""
import json
import os
import platform
import sys
import sysconfig

try:
    from importlib.metadata import version

    pip = version("pip")
except Exception:
    pip = ""

paths = sysconfig.get_paths()
executable = getattr(sys, "_base_executable", "") or sys.executable
folders = {paths["stdlib"], paths["platstdlib"], sys.base_prefix, sys.base_exec_prefix, os.path.dirname(os.path.realpath(executable))}
# A prefix such as /usr is left out: its parts are among the system's folders.
folders -= {"/", "/usr", "/usr/local", "/opt", "/home", "/root"}
json.dump(
    {
        "executable": executable,
        "version": platform.python_version(),
        "minor": "%d.%d" % sys.version_info[:2],
        "implementation": sys.implementation.name,
        "platform": sysconfig.get_platform(),
        "folders": sorted(folders),
        "pip": pip,
    },
    sys.stdout,
)
