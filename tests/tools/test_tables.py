"""Every table that a command prints fits the terminal, and sluice/experiment/aligned.py makes it.

Each function render_... returns a table as a command prints it, from figures that are made up and
names that are long. A test calls all of them at several widths of the terminal.
"""

import ast
import re
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from records import packed
from test_printing import on_a_terminal
from trees import plain_environment

from grade.cli import fair
from grade.engine import moments, record
from grade.engine.fairness import Case, Row
from grade.engine.formats import people
from grade.engine.record import GroupResult, Record
from sluice.cli.verbs import export
from sluice.debug.chain import OTHER, SERVICE, WAIT, Link, Origin
from sluice.debug.narrative import describe_links, table_lines
from sluice.experiment import costs, findings, repeat, selection, summary
from sluice.experiment.load import load
from sluice.experiment.selection import experiment_file
from sluice.host import experiments, printing
from sluice.host.paths import ROOT
from sluice.sweep import matrix
from sluice.sweep import search_report as tune
from sluice.system.trace import Event
from tools.bench import beside, real_time, targets
from tools.fresh import command as fresh
from tools.mutants import command as mutants
from tools.mutants.campaign import KILLED, SURVIVED, Outcome
from tools.mutants.change import Change

pytestmark = pytest.mark.native
WIDTHS = [40, 60, 80]
WORDS = ("as the paper", "differs", "NOT SO", "not decided")
LONG = "a solution whose name is as long as names of solutions are"
TEXT = "Words that say at length what went on, so that they do not fit a line of any terminal. "
MOST = 123_456_789.012  # a long figure


def names(count: int) -> list[str]:
    """Return so many long names."""
    return [f"{LONG}, of number {n}" for n in range(count)]


def render_repeat() -> str:
    """Return the table of three runs, each with three long differences."""
    rows = [
        repeat.Compared(name, "QEMU_10.0.8_Debian", 1234, 1230, [TEXT * 3]) for name in names(3)
    ]
    return repeat.table(rows)


def render_fair() -> str:
    """Return the table of three cases and nine groups, with a long complaint each."""
    groups = {f"group-{n}": 12.5 for n in range(9)}
    lab = SimpleNamespace(groups=[SimpleNamespace(name=n, points=p) for n, p in groups.items()])
    points = {name: (0.0, most / 2) for name, most in groups.items()}
    return fair.table(lab, [Row(Case(name), points, [TEXT]) for name in names(3)])


def render_mutants() -> str:
    """Return the table of a mutant that was noticed and one that was not."""
    found = []
    for state in (KILLED, SURVIVED):
        change = Change("kernel/cache/a_file_of_a_long_name.c", "f", 1, 1, 0, 1, "a", "b", "a")
        found.append(Outcome(change, state))
    return mutants.format_outcomes(found)


def render_costs() -> str:
    return "\n".join(costs.table(names(3), [MOST] * 3, [0.5] * 3))


def render_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a table of events, all with long numbers, of which the arrow marks one."""
    events = [Event(10**12 + n, "completed", 3, 1 << 40, 12345, 2**30, True) for n in range(99)]
    monkeypatch.setattr(moments, "load", lambda file: (None, packed(events)))
    said = moments.list_events_around(tmp_path, 50)
    assert "<--" in said
    return said


def render_bench() -> str:
    row = real_time.Row(LONG, "MB/s", [1.0, 2.0, MOST], 2.5, 1e6, [0.5, 1, 2])
    return real_time.format_rows([row], {"cpu": TEXT, "qemu": TEXT})


def render_bench_beside_linux() -> str:
    return beside.format_rows([beside.Row(LONG, "MB/s", [1.0, MOST], [0.5, 3.0])])


def render_targets() -> str:
    """Return the table of a target with a long name and the largest figures, and a small one."""
    rows = [targets.Row(LONG, MOST, "us", MOST), targets.Row("short", 1, "times")]
    lines = [line for row in rows for line in targets.TABLE.format_row(*row.format_cells())]
    return "\n".join([*targets.TABLE.format_head(), *lines])


def render_fresh() -> str:
    """Return the table of two commands, of which one failed, with long figures."""
    row = ("make experiment SIZE=quick", "12345", "12345", "123456", "123456", "1234567", "FAILED")
    lines = [line for _ in range(2) for line in fresh.TABLE.format_row(*row)]
    return "\n".join([*fresh.TABLE.format_head(), *lines])


def render_tune() -> str:
    """Return a search's two tables, which have no Markdown left on a terminal."""
    cell = "**-40.7 % (-55.3 to -26.4)**"
    text = [TEXT, "", *tune.table_head("candidate", tune.CHANGES, "screened", "other seeds")]
    text += [
        tune.table_row(68, TEXT, "-6.4 %", cell),
        "",
        *tune.table_head("setting", "`a`", "`b`"),
    ]
    said = "\n".join(tune.format_for_terminal([*text, tune.table_row(LONG, cell, cell)]))
    assert "|" not in said and "**" not in said
    assert said.count("-40.7 % (-55.3 to -26.4) *") == 3
    return said


def render_why() -> str:
    """Return the table of a read that waited long for a write of a process of a long name."""
    origin = Origin("a process of a long name, which has forked very often", 5, 1234)
    write = SimpleNamespace(write=True, requests=[], cylinders=(0, 1234), begin_ns=5)
    kinds = ((WAIT, "wait"), (OTHER, TEXT), (SERVICE, "seek"))
    found = [Link(kind, 1, 10**13, words, write, origin) for kind, words in kinds]
    chain = SimpleNamespace(links=found, command=write)
    return "\n".join(table_lines([*describe_links(chain)]))


def graded(picture: str = "") -> Record:
    """Return the record of a grading in which a test failed; its report may have a picture of
    letters."""
    group = GroupResult("arrivals", TEXT, True, 0, 12.5)
    came = {"expected": TEXT, "came": TEXT, "picture": picture}
    test = record.Outcome("arrivals", LONG.replace(" ", "_"), TEXT, False, 0, 12.5, **came)
    other = GroupResult("a-group-of-a-long-name", TEXT, False, 0, 99.75)
    return Record("elevator", "The elevator", "7", groups=[group, other], tests=[test])


def render_grade() -> str:
    """Return the pages of a graded and of a refused submission, without the lines of commands."""
    width = printing.line_width()
    said = people.text(graded("-----[-----------------------------*----"), width)
    refused = people.text(Record("elevator", "The elevator", "7", "refused", TEXT), width)
    assert "-----[-----------------------------*----\n" in said
    lines = (said + refused).splitlines()
    return "\n".join(line for line in lines if not line.strip().startswith(people.COMMANDS))


def render_matrix() -> str:
    cells = [matrix.Cell(f"a-policy-{n}", [0.5], [12.0, 13.0], [0.25]) for n in range(3)]
    return matrix.table_lines([matrix.Setting(LONG, "nbuf=1234 prefetch=ondemand", cells)])


def render_findings() -> str:
    """Return the table of findings of two papers and of ours, with each verdict."""
    found = [findings.Finding(name, word, word) for name in names(2) for word in WORDS]
    found += [findings.Finding(findings.OURS, word, "") for word in WORDS]
    return "\n".join(findings.format_findings(found))


def render_list(capsys: pytest.CaptureFixture[str]) -> str:
    selection.list_runs(load(experiment_file("mogul-4.1-fast")))
    return "\n".join(capsys.readouterr().out.splitlines()[2:])


def render_formats(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the list of the formats of exports."""
    monkeypatch.setattr(experiments, "experiment_files", list)
    export.print_formats()
    return capsys.readouterr().out


def render_histogram(monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the histograms of three arms, whose counts differ by five decimal places."""
    counts = {name: {-1: 1, 0: 123_456, 12: 7} for name in names(3)}
    monkeypatch.setattr(summary, "group_trials", lambda results: {n: [n] for n in counts})
    monkeypatch.setattr(summary, "octave_counts", lambda trials, job: counts[trials[0]])
    said = "\n".join(summary.histogram(SimpleNamespace(plot={"histogram": "read"}), []))
    assert said.count("123456") == 3
    return said


def render_sparklines(monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the small curves of three arms, each of more bins than a line has columns."""
    series = {"bin_ms": 100, "bins": 500}
    firsts = {name: [{"series": series}] for name in names(3)}
    monkeypatch.setattr(summary, "group_trials", lambda results: firsts)
    monkeypatch.setattr(summary, "disk_series", lambda result: {"writes": [3] * 500})
    monkeypatch.setattr(summary, "measured_disk", lambda result: "data")
    return "\n".join(summary.sparklines([{}]))


TABLES = [
    render_repeat,
    render_fair,
    render_mutants,
    render_costs,
    render_events,
    render_bench,
    render_bench_beside_linux,
    render_targets,
    render_fresh,
    render_tune,
    render_why,
    render_grade,
    render_matrix,
    render_findings,
    render_list,
    render_formats,
    render_histogram,
    render_sparklines,
]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.__name__)
def test_a_table_fits_the_terminal(
    table: Callable[..., str],
    width: int,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    """No line of any table is longer than the terminal, and none is cut by rich."""
    monkeypatch.setattr(printing, "line_width", lambda: width)
    monkeypatch.setattr(printing, "terminal_width", lambda: width)
    # Parameters of a render function are fixtures.
    asked = table.__code__.co_varnames[: table.__code__.co_argcount]
    lines = table(**{name: request.getfixturevalue(name) for name in asked}).splitlines()
    assert lines
    assert [line for line in lines if len(line) > width] == []
    # rich writes this where it cuts a cell
    assert not any("…" in line for line in lines)


def test_a_growing_table_has_every_figure_at_every_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table that is printed row by row cannot know its columns' widths. On a narrow terminal a
    row takes several lines, and each figure has its column's name."""
    figures = ["11", "222", "3333", "44444", "555555", "FAILED"]
    for width in (*WIDTHS, 200):
        monkeypatch.setattr(printing, "line_width", lambda width=width: width)
        said = "\n".join(
            [*fresh.TABLE.format_head(), *fresh.TABLE.format_row("make experiment", *figures)]
        )
        assert Counter(re.findall(r"\b\w+\b", said)) >= Counter(figures)
        assert all(head in said for head in fresh.TABLE.heads)
        assert ("s 11" in said) == (width < 80)


def test_a_file_of_results_does_not_depend_on_the_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The text of a record, with a long name in it, is the same at each width of the terminal."""
    texts = set()
    for width in WIDTHS:
        monkeypatch.setattr(printing, "line_width", lambda width=width: width)
        monkeypatch.setattr(printing, "terminal_width", lambda width=width: width)
        record = graded()
        record.groups[1].name = "a-group-" * 6
        texts.add(people.text(record))
    assert len(texts) == 1


def test_worked_examples_fit_a_page() -> None:
    texts = [*ROOT.glob("grade/labs/*/before.txt"), *ROOT.glob("grade/labs/*/after.txt")]
    assert texts
    lines = [(text, line) for text in texts for line in text.read_text("utf-8").splitlines()]
    assert [line for line in lines if len(line[1]) > printing.PLAIN_WIDTH] == []


@pytest.mark.parametrize("columns", WIDTHS)
def test_the_list_of_goals_fits_the_terminal(columns: int) -> None:
    shown = on_a_terminal(["make", "--no-print-directory", "help"], columns)
    plain = subprocess.run(
        ["make", "help"],
        cwd=ROOT,
        env=plain_environment(),
        capture_output=True,
        encoding="utf-8",
        check=True,
    ).stdout
    assert [line for line in shown.splitlines() if len(line) > columns] == []
    assert shown.split() == plain.split()
    assert all(line.startswith("make ") for line in plain.splitlines())


# Files that pad text to a width and print no table by that; what they pad.
PADDED = {
    "tools/gdb/sluice.py": "gdb has a pager, and no package of ours",
    "sluice/debug/narrative.py": "sentences behind a figure, which printing.filled folds",
    "sluice/experiment/summary.py": "sentences behind a word, which printing.filled folds",
    "grade/engine/example.py": "texts that are stored, and fit a page (above)",
    "sluice/export/formats/blktrace.py": "bytes of a file",
    "sluice/trace/packed.py": "bytes of a file",
    "sluice/debug/instant.py": "digits of a number",
    "grade/labs/place/disks.py": "bytes of a disk",
    "grade/labs/delayed-write/tests/which.py": "bytes of a file",
    "sluice/wasm/loads.py": "bytes of a disk",
    "sluice/crash/oracle.py": "bytes of a file",
    "sluice/crash/log_faults.py": "bytes of a block",
    "sluice/crash/replayed_disk.py": "bytes of a disk",
    "sluice/network/consoles.py": "digits of a time, before a line that comes while a run goes on",
    "tools/search/path_story.py": "the numbers of steps, each before a sentence",
    "sluice/crash/story.py": "the numbers of events, each before a sentence",
    "sluice/host/reading.py": "the numbers of a list, whose lines it folds",
    "sluice/cli/verbs/pages.py": "short names in front of questions",
    "tools/machine_mode/machines.py": "bytes of a file",
}
PADS = re.compile(r"[<>^]?[1-9]\d*[sd,.]?")
PAD_CALLS = {"ljust", "rjust", "center", "expandtabs"}


def pads(path: Path) -> bool:
    """True if a file pads text to a width."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Attribute) and node.attr in PAD_CALLS:
            return True
        if isinstance(node, ast.FormattedValue) and node.format_spec:
            first = node.format_spec.values[0]
            if isinstance(first, ast.FormattedValue):  # {name:{width}}
                return True
            if PADS.match(first.value) or first.value[0] in "<>^":
                return True
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and re.search(r"\{\w*:[<>^]", text):  # for str.format
            return True
    return False


def test_no_table_is_made_by_hand() -> None:
    tops = ("sluice", "grade", "book", "tools")
    ours = [path for top in tops for path in ROOT.glob(f"{top}/**/*.py")]
    found = {str(path.relative_to(ROOT)) for path in ours if pads(path)}
    assert found == set(PADDED)
