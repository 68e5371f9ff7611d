"""Write the comparison: the page and a picture of each measure."""

from html import escape
from pathlib import Path

from sluice.experiment import result
from sluice.experiment.files import write_atomically
from sluice.experiment.result import BadResult
from sluice.experiment.schema import Experiment
from sluice.experiment.summary import format_number
from sluice.report import page, study
from sluice.report.comparison import contests, core, matrix, questions
from sluice.report.comparison.core import Load
from sluice.report.comparison.rows import (
    MEASURES,
    Row,
    all_rows,
    common_policies,
    common_sets,
    comparable_cases,
    response_series,
    set_names,
)
from sluice.report.figures import Figure
from sluice.report.study import Study, variable_words
from sluice.report.write import Tell, ignore_message, write_pictures

HERE = Path(__file__).parent
NAME = "comparison"
MANY = 16  # more sets than this are too many to show at once
ABOUT = (
    "A column is a set of policies, a row a case: an experiment in one setting. A number is a "
    "multiple of the reference's. The last row is the "
    "geometric mean over the cases that a set is in: they are not the same for all sets."
)


def has_results(experiment: Experiment, folder: Path) -> bool:
    """Return whether a run of the experiment has been made."""
    path = folder / experiment.name / "results.jsonl"
    return path.exists() and path.stat().st_size > 0


def load_studies(experiments: list[Experiment], folder: Path) -> tuple[list[Study], list[str]]:
    """Return the studies that have results, and the names of the experiments that have none."""
    found, without = [], []
    for experiment in experiments:
        if has_results(experiment, folder):
            results = result.read(folder / experiment.name / "results.jsonl")
            found.append(study.build_study(experiment, results))
        else:
            without.append(experiment.name)
    return found, without


def set_checkboxes(names: list[str], chosen: list[str]) -> str:
    """Return a checkbox for each set, ticked if the set is chosen."""
    box = '<label><input type="checkbox" value="{0}"{1}> {0}</label>'
    ticks = {name: " checked" if name in chosen else "" for name in names}
    return "\n".join(box.format(escape(name), tick) for name, tick in ticks.items())


def system_cells(row: Row) -> str:
    """Return the cells of a system's row."""
    told = [row.system.arm, row.policies, variable_words(row.system.setting)]
    found = "".join(f"<td>{escape(word)}</td>" for word in told)
    for measure, value in zip(MEASURES, row.values, strict=True):
        if value is None:
            found += '<td class="none">-</td>'
            continue
        spread = row.spread(measure)
        range_ = (
            f"<br><small>{format_number(spread.low)} to {format_number(spread.high)}</small>"
            if spread
            else ""
        )
        found += f'<td data-v="{value}">{format_number(value)}{range_}</td>'
    return found


def experiment_table(of: Study, found: list[Row], kinds: str) -> str:
    """Return the part of one experiment: its claim, and a row for each of its systems."""
    name = escape(of.experiment.name)
    heads = "".join(f'<th title="{escape(m.about)}">{m.name}, {m.unit}</th>' for m in MEASURES)
    body = ""
    for row in found:
        case = f'data-set="{escape(row.policies)}" data-case="{escape(row.case)}"'
        body += f"<tr {case}>{system_cells(row)}</tr>\n"
    return (
        f'<h3><a href="{name}/report.html">{name}</a></h3>\n<p>{escape(of.experiment.claim)}</p>\n'
        f'<p class="about">Responses: {escape(response_series(of))}; drive {of.experiment.drive}; '
        f'{len(of.results)} runs.</p>\n<div class="scroll"><table><thead><tr><th>arm</th>'
        f"<th>{kinds}</th><th>setting</th>{heads}</tr></thead>\n<tbody>{body}</tbody></table></div>"
    )


def initial_sets(found: list[Row]) -> list[str]:
    """Return the sets that are shown at first: the core sets where they are compared, or all sets
    if they are few, or else those in several cases."""
    every = set_names(found)
    return core.core_policy_sets(found) or (every if len(every) <= MANY else common_sets(found))


def answers_section(loads: list[Load], pictures: dict[str, str]) -> str:
    """Return the sections of the questions that the results can answer."""
    asked = questions.answerable_questions(loads)
    parts = [
        questions.question_section(loads, question, pictures[f"question-{question.measure}"])
        for question in asked
    ]
    return "\n".join(parts)


def core_sets_section(loads: list[Load]) -> str:
    """Return the section that explains the core sets; "" if no question is answered."""
    if not questions.answerable_questions(loads):
        return ""
    table = questions.sets_table(loads)
    return f'<h2>The core sets</h2>\n<div class="scroll">{table}</div>'


def comparison_page(
    of: list[Study],
    found: list[Row],
    without: list[str],
    figures: list[Figure],
    pictures: dict[str, str],
) -> str:
    """Return the whole page."""
    alike = common_policies(of)
    kinds = " ".join(kind for kind in of[0].results[0]["config"]["policies"] if kind not in alike)
    lacking = [f"{s.experiment.name} lacks some of its runs." for s in of if has_no_row(s)]
    loads = core.build_loads(found)
    grid = [figure for figure in figures if figure.name == NAME]
    parts = {
        "warnings": "".join(f'<p class="warning">{escape(line)}</p>' for line in lacking),
        "questions": answers_section(loads, pictures),
        "core": core_sets_section(loads),
        "matrix": page.figures_html(grid, pictures).replace("<div id=", "<div data-live id="),
        "contests": contests.contests_table(of),
        "choice": set_checkboxes(set_names(found), initial_sets(found)),
        "tables": "\n".join(
            experiment_table(s, [row for row in found if row.study is s], escape(kinds)) for s in of
        ),
        "script": (HERE / "choose.js").read_text(encoding="utf-8"),
    }
    all_have = ", ".join(f"{kind} {name}" for kind, name in alike.items())
    told = {
        "number": len(of),
        "shown": len(initial_sets(found)),
        "all": len(set_names(found)),
        "kinds": kinds,
        "without": f"Without results: {', '.join(without)}." if without else "",
        "same": f"All have {all_have}." if alike else "",
    }
    own = (HERE / "page.css").read_text(encoding="utf-8")
    return page.fill_template(HERE / "page.html", "Comparison", told, parts, grid, own)


def has_no_row(of: Study) -> bool:
    """Return whether some of the experiment's runs have no result."""
    return len(of.results) < len(of.experiment.runs)


def comparison_figures(found: list[Row]) -> list[Figure]:
    """Return the pictures of the questions, and a picture of each measure over all cases."""
    loads = core.build_loads(found)
    of_questions = [
        questions.question_figure(loads, question)
        for question in questions.answerable_questions(loads)
    ]
    if not comparable_cases(found):
        return of_questions
    grids = [(m.name, m.about, matrix.matrix_spec(found, m, initial_sets(found))) for m in MEASURES]
    first = Figure(NAME, ABOUT, grids[0][2])
    return [*of_questions, first, *(Figure(*grid) for grid in grids)]


def write_comparison(
    experiments: list[Experiment], folder: Path, tell: Tell = ignore_message
) -> Path:
    """Write the comparison of the results that exist into the folder. Returns the page's path."""
    of, without = load_studies(experiments, folder)
    if not of:
        raise BadResult(f"{folder}: no experiment has results")
    found = all_rows(of)
    figures = comparison_figures(found)
    pictures = write_pictures(figures, folder / NAME, tell)
    write_atomically(
        folder / f"{NAME}.html", comparison_page(of, found, without, figures, pictures)
    )
    return folder / f"{NAME}.html"
