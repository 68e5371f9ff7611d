"""The commands that handouts offer to try work as they stand, and print what the handout shows."""

import re
import shlex
from pathlib import Path

import pytest

from grade.definition.lab import Lab, load_labs
from sluice.system import one_boot as run
from sluice.system.qemu import run_rc

MOST_LINES, MOST_COLUMNS = 60, 160  # of what one command prints: a screen or two


def try_it_section(lab: Lab) -> str:
    """Return the section "Try it" of a lab's handout."""
    text = (lab.folder / "handout.md").read_text()
    return re.search(r"^## Try it\n(.*?)^## ", text, re.M | re.S)[1]


def list_runs(lab: Lab) -> list[tuple[str, str]]:
    """Return the commands and boot arguments of each `sluice run` in the section."""
    lines = re.findall(r"^ +bin/sluice (run .*)$", try_it_section(lab), re.M)
    return [(words[1], words[3]) for words in map(shlex.split, lines) if words[2] == "--args"]


EACH = [(lab, given) for lab in load_labs() for given in list_runs(lab)]


def test_each_lab_has_an_experiment_in_virtual_time() -> None:
    assert {lab.name for lab, _ in EACH} == {lab.name for lab in load_labs()}


@pytest.mark.parametrize(("lab", "given"), EACH, ids=[lab.name for lab, _ in EACH])
def test_what_is_to_be_tried_prints_what_a_person_reads(
    lab: Lab, given: tuple[str, str], tmp_path: Path
) -> None:
    """given: the commands and boot arguments. The output fits a screen or two and has no error."""
    commands, arguments = given
    for file, solution in lab.new.items():  # this tree has the solution, under another name
        kind, name = Path(file).parts[1:]
        arguments = arguments.replace(f"{kind}={Path(name).stem}", f"{kind}={Path(solution).stem}")
    result = run_rc(run.config(arguments, commands, 64, "128M", tmp_path))
    assert result.status == 0, result.console
    said = result.console.splitlines()
    assert len(said) <= MOST_LINES, result.console
    assert max(map(len, said)) <= MOST_COLUMNS, result.console
    assert not re.search(r"[{}]|no such|usage:|panic|fault", result.console), result.console
