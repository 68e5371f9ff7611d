"""Writes a recording as files in one format or in several, and lists the formats.

A format is a module of sluice/export/formats. Its `write(recording, folder)` yields, for each file
or group of files, how a user opens it; its ABOUT says what the format is for.
"""

import importlib
import pkgutil
import shutil
import tempfile
from pathlib import Path
from types import ModuleType

from sluice.export import formats
from sluice.export.recording import Recording
from sluice.host.paths import BUILD


def find_formats() -> dict[str, ModuleType]:
    """Return the modules of all formats, by the format's name."""
    names = sorted(module.name for module in pkgutil.iter_modules(formats.__path__))
    return {name: importlib.import_module(f"{formats.__name__}.{name}") for name in names}


def write_files(recording: Recording, chosen: dict[str, ModuleType], out: Path) -> list[str]:
    """Write the files of all chosen formats, or none if one of them cannot be made. Returns a line
    for each that says how to open it."""
    BUILD.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILD) as name:
        lines = []
        for format_name, module in chosen.items():
            for command in module.write(recording, Path(name)):
                lines.append(f"  {format_name}: {command}")
        out.mkdir(parents=True, exist_ok=True)
        for path in sorted(Path(name).iterdir()):
            if path.is_dir():  # anew: those of another run would stay in it
                shutil.rmtree(out / path.name, ignore_errors=True)
                shutil.copytree(path, out / path.name)
            else:
                (out / path.name).write_bytes(path.read_bytes())
    return lines
