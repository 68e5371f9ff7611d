"""Writes the comparison: the page and a picture of each measure."""

from html import escape
from pathlib import Path

from sluice.experiment import result
from sluice.experiment.files import write_whole
from sluice.experiment.result import BadResult
from sluice.experiment.schema import Experiment
from sluice.experiment.summary import number
from sluice.report import page, study
from sluice.report.comparison import contests, core, matrix, questions
from sluice.report.comparison.core import Load
from sluice.report.comparison.rows import (
    MEASURES,
    Row,
    cases,
    common,
    responses,
    rows,
    same,
    sets,
)
from sluice.report.figures import Figure
from sluice.report.study import Study, words
from sluice.report.write import Tell, silent, write_pictures

HERE = Path(__file__).parent
NAME = "comparison"
MANY = 16  # sets are too many to be shown at once
ABOUT = (
    "A column is a set of policies, a row a case: an experiment in one setting. A number is a "
    "multiple of the reference's. The last row is the "
    "geometric mean over the cases that a set is in: they are not the same for all sets."
)


def has_results(experiment: Experiment, folder: Path) -> bool:
    """True if a run has been made."""
    path = folder / experiment.name / "results.jsonl"
    return path.exists() and path.stat().st_size > 0


def studies(experiments: list[Experiment], folder: Path) -> tuple[list[Study], list[str]]:
    """The studies that have results, and the names of the experiments that have none."""
    found, without = [], []
    for experiment in experiments:
        if has_results(experiment, folder):
            results = result.read(folder / experiment.name / "results.jsonl")
            found.append(study.check(experiment, results))
        else:
            without.append(experiment.name)
    return found, without


def choice(names: list[str], chosen: list[str]) -> str:
    """A box to tick for each set, ticked if the set is chosen."""
    box = '<label><input type="checkbox" value="{0}"{1}> {0}</label>'
    ticks = {name: " checked" if name in chosen else "" for name in names}
    return "\n".join(box.format(escape(name), tick) for name, tick in ticks.items())


def cells(row: Row) -> str:
    """The cells of a system's row."""
    told = [row.system.arm, row.policies, words(row.system.setting)]
    found = "".join(f"<td>{escape(word)}</td>" for word in told)
    for measure, value in zip(MEASURES, row.values, strict=True):
        if value is None:
            found += '<td class="none">-</td>'
            continue
        spread = row.spread(measure)
        told = f"<br><small>{number(spread.low)} to {number(spread.high)}</small>" if spread else ""
        found += f'<td data-v="{value}">{number(value)}{told}</td>'
    return found


def table(of: Study, found: list[Row], kinds: str) -> str:
    """One experiment: its claim, and a row for each of its systems."""
    name = escape(of.experiment.name)
    heads = "".join(f'<th title="{escape(m.about)}">{m.name}, {m.unit}</th>' for m in MEASURES)
    body = "".join(
        f'<tr data-set="{escape(row.policies)}" data-case="{escape(row.case)}">{cells(row)}</tr>\n'
        for row in found
    )
    return (
        f'<h3><a href="{name}/report.html">{name}</a></h3>\n<p>{escape(of.experiment.claim)}</p>\n'
        f'<p class="about">Responses: {escape(responses(of))}; drive {of.experiment.drive}; '
        f'{len(of.results)} runs.</p>\n<div class="scroll"><table><thead><tr><th>arm</th>'
        f"<th>{kinds}</th><th>setting</th>{heads}</tr></thead>\n<tbody>{body}</tbody></table></div>"
    )


def chosen(found: list[Row]) -> list[str]:
    """The sets that are shown at first: the core sets where they are compared, or all if they are
    few, or else those of several cases."""
    every = sets(found)
    return core.policies_of(found) or (every if len(every) <= MANY else common(found))


def answers(loads: list[Load], pictures: dict[str, str]) -> str:
    """The questions that the results can answer."""
    asked = questions.asked(loads)
    parts = [
        questions.section(loads, question, pictures[f"question-{question.measure}"])
        for question in asked
    ]
    return "\n".join(parts)


def core_sets(loads: list[Load]) -> str:
    """What the core sets are that the answers speak of; nothing if there is no answer."""
    if not questions.asked(loads):
        return ""
    table = questions.sets_table(loads)
    return f'<h2>The core sets</h2>\n<div class="scroll">{table}</div>'


def text(
    of: list[Study],
    found: list[Row],
    without: list[str],
    figures: list[Figure],
    pictures: dict[str, str],
) -> str:
    """The whole page."""
    alike = same(of)
    kinds = " ".join(kind for kind in of[0].results[0]["config"]["policies"] if kind not in alike)
    lacking = [f"{s.experiment.name} lacks some of its runs." for s in of if lacks(s)]
    loads = core.loads(found)
    grid = [figure for figure in figures if figure.name == NAME]
    parts = {
        "warnings": "".join(f'<p class="warning">{escape(line)}</p>' for line in lacking),
        "questions": answers(loads, pictures),
        "core": core_sets(loads),
        "matrix": page.places(grid, pictures).replace("<div id=", "<div data-live id="),
        "contests": contests.table(of),
        "choice": choice(sets(found), chosen(found)),
        "tables": "\n".join(
            table(s, [row for row in found if row.study is s], escape(kinds)) for s in of
        ),
        "script": (HERE / "choose.js").read_text(encoding="utf-8"),
    }
    all_have = ", ".join(f"{kind} {name}" for kind, name in alike.items())
    told = {
        "number": len(of),
        "shown": len(chosen(found)),
        "all": len(sets(found)),
        "kinds": kinds,
        "without": f"Without results: {', '.join(without)}." if without else "",
        "same": f"All have {all_have}." if alike else "",
    }
    own = (HERE / "page.css").read_text(encoding="utf-8")
    return page.filled(HERE / "page.html", "Comparison", told, parts, grid, own)


def lacks(of: Study) -> bool:
    return len(of.results) < len(of.experiment.runs)


def figures_of(found: list[Row]) -> list[Figure]:
    """The pictures of the questions, and of each measure over all cases."""
    loads = core.loads(found)
    of_questions = [questions.figure(loads, question) for question in questions.asked(loads)]
    if not cases(found):
        return of_questions
    grids = [(m.name, m.about, matrix.spec(found, m, chosen(found))) for m in MEASURES]
    first = Figure(NAME, ABOUT, grids[0][2])
    return [*of_questions, first, *(Figure(*grid) for grid in grids)]


def write_comparison(experiments: list[Experiment], folder: Path, tell: Tell = silent) -> Path:
    """Write the comparison of the results that exist into the folder. Returns the page's path."""
    of, without = studies(experiments, folder)
    if not of:
        raise BadResult(f"{folder}: no experiment has results")
    found = rows(of)
    figures = figures_of(found)
    pictures = write_pictures(figures, folder / NAME, tell)
    write_whole(folder / f"{NAME}.html", text(of, found, without, figures, pictures))
    return folder / f"{NAME}.html"
