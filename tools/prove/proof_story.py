"""Tells a counterexample of CBMC as the calls of the hooks and their answers.

A harness says TELL("scan at {} ns", now): CBMC's trace then has an output with this text and the
value. All other steps of a trace, which are assignments by the thousand, are left out.
"""

import re
from pathlib import Path
from typing import Any

from sluice.host.paths import ROOT

TUNABLE = "set tunable {} to {}"
ROW = re.compile(r'^\s*\{\s*"(\w+)",', re.MULTILINE)
TABLE = re.compile(r"struct tunable (\w+)\[\] = \{(.*?)^\};", re.MULTILINE | re.DOTALL)
SUFFIX = re.compile(r"(?<=[0-9])(ul|u|l)$")
NAMED = {2**64 - 1: "never (the largest number)"}


def format_value(value: dict[str, Any]) -> str:
    """Return a value of a trace as a number, without C's endings of constants."""
    text = SUFFIX.sub("", str(value.get("data", "?")))
    if text in ("TRUE", "FALSE"):
        return "yes" if text == "TRUE" else "no"
    return NAMED.get(int(text), text) if text.isdigit() else text


def tunables_of(policy: Path) -> list[str]:
    """Return the names of a policy's tunables, in the order of its table."""
    table = TABLE.search((ROOT / policy).read_text(encoding="utf-8"))
    return ROW.findall(table[2]) if table else []


def tell_line(text: str, values: list[str], tunables: list[str]) -> str:
    """Return a line of the story: each {} of the text is the next value."""
    if text == TUNABLE and values[0].isdigit() and int(values[0]) < len(tunables):
        values = [tunables[int(values[0])], *values[1:]]
    for value in values:
        text = text.replace("{}", value, 1)
    return text


def tell_story(steps: list[dict[str, Any]], policy: Path) -> list[str]:
    """Return the lines of the story: what was told, and the claim that fails at the end."""
    tunables = tunables_of(policy)
    lines = []
    for step in steps:
        if step["stepType"] == "output":
            values = [format_value(value) for value in step["values"]]
            lines.append(tell_line(step["outputID"], values, tunables))
        elif step["stepType"] == "failure":
            where = step.get("sourceLocation", {})
            place = f"{where.get('file', '')} line {where.get('line', '')}"
            lines.append(f"which breaks: {step['reason']} ({place})")
    return lines
