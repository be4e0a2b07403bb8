"""Describes the interpreter that runs it, as JSON."""
import json
import platform
import sys
import sysconfig

try:
    from importlib.metadata import version

    pip = version("pip")
except Exception:
    pip = ""

paths = sysconfig.get_paths()
folders = {paths["stdlib"], paths["platstdlib"]}
if sys.base_prefix not in ("/", "/usr"):
    folders.add(sys.base_prefix)
json.dump(
    {
        "executable": getattr(sys, "_base_executable", "") or sys.executable,
        "version": platform.python_version(),
        "minor": "%d.%d" % sys.version_info[:2],
        "implementation": sys.implementation.name,
        "platform": sysconfig.get_platform(),
        "folders": sorted(folders),
        "pip": pip,
    },
    sys.stdout,
)
