"""Parse a form that is not trusted: in the sandbox, once, under limits.

Python's parser of TOML takes time and memory that grow with the square of some texts. So a text
that is too long is refused first. Another process of Python then parses the text, without packages,
in a few seconds of processor time and with the memory limit of a compiler. It returns strings and
whole numbers as they are, and every other value as a text that shows the value.
"""

import json
import sys
import sysconfig
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from grade.trust import sandbox
from sluice.host.fault import HostFault

MOST_BYTES = 16 << 10  # a lab's form has 2 KiB
CPU_S = 5
LIMIT_S = 300  # wall-clock time, for a sandbox that hangs
TEXT = "form.toml"
SOUND = "answer = 1\n"  # a text that can always be parsed
PARSER = f"""
import json, sys, tomllib
try:
    with open("{TEXT}", encoding="utf-8") as file:
        form = tomllib.loads(file.read())
except (ValueError, RecursionError) as error:
    print(json.dumps(dict(error=str(error)[:200])))
else:
    plain = {{k: v if type(v) in (str, int) else [repr(v)[:80]] for k, v in form.items()}}
    print(json.dumps(dict(form=plain)))
"""


class BadForm(Exception):
    """The error for a form that is not TOML, too large, or too slow to parse; the text says why."""


@dataclass(frozen=True)
class Shown:
    """The text that messages show for a value that is neither a string nor a whole number."""

    text: str

    def __repr__(self) -> str:
        return self.text


@lru_cache(maxsize=1000)
def parse_form(text: str) -> dict[str, str | int | Shown]:
    """Return a form's values by name. Raises BadForm.

    Raises HostFault if no form can be parsed on this machine. The same text is parsed only once,
    because each test of a grading asks for its values.
    """
    if (size := len(text.encode())) > MOST_BYTES:
        raise BadForm(f"it has {size} bytes, and a form may have {MOST_BYTES}")
    made = run_parser(text)
    if made is None and run_parser(SOUND) is None:
        raise HostFault("not even a correct form can be parsed in the sandbox of this machine")
    if made is None:
        raise BadForm(f"parsing it takes more than {CPU_S} s of a processor, or too much memory")
    if "error" in made:
        raise BadForm(made["error"])
    return {k: Shown(v[0]) if isinstance(v, list) else v for k, v in made["form"].items()}


def run_parser(text: str) -> dict[str, Any] | None:
    """Return what the parser prints for a text, or None if the sandbox ended it."""
    python = Path(sys.executable).resolve()
    library = Path(sysconfig.get_path("stdlib"))
    with sandbox.sandbox_folder() as apart:
        (apart.path / TEXT).write_text(text, encoding="utf-8")
        command = [str(python), "-I", "-S", "-c", PARSER]
        try:
            made = sandbox.run_command(
                command, apart, frozenset({python}), frozenset({library}), LIMIT_S, cpu_s=CPU_S
            )
        except sandbox.TooLong:
            return None
    return json.loads(made.data) if made.status == 0 else None
