"""Does what `make GOAL VARIABLE=value` did, by the words of `sluice` that do it now.

    python -m sluice.cli.old_goals GOAL [VARIABLE=value]...

old_goals.toml has the words of each goal and variable. The new command is printed first, to
standard error, so that it can be learnt. A variable without a value counts as not given.
"""

import os
import shlex
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sluice.host.nearest import suggest

TABLE = Path(__file__).with_suffix(".toml")
VARIABLES, VERB, MAKE = "variables", "verb", "make"


class BadGoal(ValueError):
    """A goal or variable is in no table; the text says which one was meant."""


def table() -> dict[str, dict[str, Any]]:
    """Return the tables of the goals, by name."""
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


def translate(goal: str, given: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """Return the words of `sluice` for a goal and its variables, and what goes into the
    environment. Raises BadGoal."""
    goals = table()
    common = goals.pop(VARIABLES)["names"]
    row = goals.get(goal, {MAKE: True})
    if MAKE in row:
        there = [name for name, one in goals.items() if MAKE not in one]
        raise BadGoal(f"{goal}: no goal of this name is a verb; {suggest(goal, there)}")
    known = [name for name in row if name.isupper() or name[-1:].isdigit()]
    for name in given:
        if name not in known and name not in common:
            raise BadGoal(f"{name}: {goal} has no such variable; {suggest(name, known)}")
    verb, options, operands = row[VERB], [], []
    environment = {name: text for name, text in given.items() if name not in known}
    for name in known:
        value = given.get(name, "")
        if not value:
            continue
        how = row[name]
        if how.startswith("verb "):
            verb, _, how = how.removeprefix("verb ").partition(", ")
        if how == "operand":
            operands.append(value)
        elif how == "words":
            operands += value.split()
        elif how.startswith("each "):
            options += [f"{how.removeprefix('each ')}={word}" for word in value.split()]
        elif how.startswith("flag "):
            if value == "1":
                options.append(how.removeprefix("flag "))
            elif name in common:
                environment[name] = value
        elif how:
            options.append(f"{how}={value}")
    end = ["--"] if any(word.startswith("-") for word in operands) else []
    return [*verb.split(), *options, *end, *operands], environment


def main() -> int:
    """Print the new command, and do it. Returns 2 if there is none."""
    goal, *words = sys.argv[1:]
    try:
        command, environment = translate(goal, dict(word.split("=", 1) for word in words))
    except BadGoal as error:
        print(f"make {error}", file=sys.stderr)
        return 2
    print(f"sluice {shlex.join(command)}", file=sys.stderr, flush=True)
    line = [sys.executable, "-P", "-m", "sluice.cli", *command]
    os.execve(sys.executable, line, os.environ | environment)
    return 0


if __name__ == "__main__":
    sys.exit(main())
