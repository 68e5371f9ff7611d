"""Write the page of an experiment. The page has the claim, the result in one sentence and as a
picture, the expectations, the numbers, all other figures, and at the end how the runs were made.
This file makes the words and tables and puts them into page.html.
"""

import json
import shlex
from collections.abc import Mapping
from functools import cache
from html import escape
from pathlib import Path
from string import Template
from tempfile import TemporaryDirectory

import vl_convert

from sluice.experiment import expect, summary
from sluice.experiment.load import FULL
from sluice.experiment.verdict import Verdict
from sluice.host.experiments import EXPERIMENTS
from sluice.host.paths import KEPT, ROOT
from sluice.report import lead, theme, wording
from sluice.report.columns import UNPACKER, deflate_text
from sluice.report.figures import LEAD, Figure
from sluice.report.head import DRAWN, PICTURES, page_head
from sluice.report.study import Study

TEMPLATE = Path(__file__).with_name("page.html")
STYLE = Path(__file__).with_name("style.css")
FIGURES_STYLE = Path(__file__).with_name("figures.css")
DRAW = Path(__file__).with_name("draw.js")
VERDICTS = {True: "met", False: "unmet", None: "open"}
NOTES = {summary.SPREAD: "spread", summary.MODEL: "model", summary.PUBLISHED: "published"}


# The module's stubs lack its version, and the default of javascript_bundle's argument.
LIBRARY = KEPT / f"drawing-{vl_convert.__version__}.js"  # type: ignore[attr-defined]


@cache
def drawing_script() -> str:
    """Return the script that draws, with everything that it needs.

    Bundling it takes 12 s of processor time, so it is kept in a file for later pages.
    """
    if not LIBRARY.exists():
        LIBRARY.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=LIBRARY.parent) as folder:
            made = Path(folder, LIBRARY.name)
            bundle = vl_convert.javascript_bundle()  # type: ignore[call-arg]
            made.write_text(bundle.replace("</script", "<\\/script"), encoding="utf-8")
            made.replace(LIBRARY)
    return LIBRARY.read_text(encoding="utf-8")


def page_style() -> str:
    """Return the style of pages with figures."""
    return STYLE.read_text(encoding="utf-8") + FIGURES_STYLE.read_text(encoding="utf-8")


def row_cells(row: list[str], tag: str) -> str:
    """Return the cells of one row as HTML."""
    return "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row)


def table_heads(study: Study) -> str:
    """Return the heads of the table: each metric in words, with its unit below."""
    said = [wording.metric_words(column) for column in study.experiment.plot["columns"]]
    units = [f"<small>{escape(w.unit)}</small>" if w.heading != w.text else "" for w in said]
    cells_of = [f"<th>{escape(w.capital)}{u}</th>" for w, u in zip(said, units, strict=True)]
    return f"<tr><th></th><th>Trials</th>{''.join(cells_of)}</tr>"


def sentence(note: str) -> str:
    """Return a note with a capital and a full stop."""
    return f"{note[0].upper()}{note[1:]}."


def summary_table(study: Study) -> str:
    """Return the table that the terminal shows, with its heads in words."""
    if not study.experiment.plot["columns"]:
        return "<p>The experiment names no columns to show.</p>"
    body = ""
    for row in summary.table(study.experiment, study.results)[2:]:
        kind = f' class="{NOTES[row[0]]}"' if row[0] in NOTES else ""
        body += f"<tr{kind}>{row_cells(row, 'td')}</tr>\n"
    sure = summary.interval_note(study.results)
    told = f'<caption class="about">{escape(sentence(sure))}</caption>'
    head = f"<thead>{table_heads(study)}</thead>"
    return f'<table class="numbers">{told}{head}\n<tbody>{body}</tbody></table>'


def arms_section(study: Study) -> str:
    """Return a table of the arms, with the settings that only they have."""
    own = theme.arm_settings_text(study)
    rows = "".join(
        f"<tr><td>{escape(arm)}</td><td>{escape(own[arm])}</td></tr>\n" for arm in study.arms
    )
    return f'<table class="arms">{rows}</table>'


def example_runs(study: Study) -> list[int]:
    """Return the numbers of example runs: one of each arm that the first sentence names, or of the
    first two arms, with equal variables."""
    arms = (lead.sentence_arms(study) or study.arms)[:2]
    found: dict[str, dict[str, int]] = {}
    for run in study.experiment.runs:
        if run.arm in arms:
            found.setdefault(str(run.variables), {}).setdefault(run.arm, run.number)
    return list(max(found.values(), key=len, default={}).values())


NO_READ = "This load only writes, so no read of it waits. (<code>sluice why</code> explains reads.)"
THEATRE = "theatre.html"  # beside a report; `sluice theatre` puts the theatre there


def run_arguments(study: Study) -> str:
    """Return the arguments of commands that show the example runs: the experiment, --size, --run
    and --second.

    It is "" if there are no runs, or if an arm has a policy of --with, because these commands do
    not have the option --with.
    """
    experiment, which = study.experiment, example_runs(study)
    if not which or experiment.policy:
        return ""
    name = (
        experiment.path.stem
        if experiment.path.is_relative_to(EXPERIMENTS)
        else str(experiment.path)
    )
    size = f" --size={experiment.size}" if experiment.size != FULL else ""
    second = "".join(f" --second={n}" for n in which[1:])
    return f"{shlex.quote(name)}{size} --run={which[0]}{second}"


def has_theatre(study: Study) -> bool:
    """Return whether `sluice theatre` can put the theatre of these runs next to the report. The
    theatre shows what a machine does, which the twin does exactly in charged time only."""
    return bool(run_arguments(study)) and not study.experiment.is_approximate


def placeholder_page(study: Study) -> str:
    """Return the page that stands in the theatre's place until the theatre is made."""
    command = escape(f"sluice theatre {run_arguments(study)}")
    return page_head(f"{study.experiment.name} in the theatre", page_style()) + (
        '<body class="report">\n<h1>The theatre is not made yet</h1>\n'
        "<p>It shows runs as they went, and takes seconds to make. In Sluice's tree, type</p>\n"
        f"<p><code>{command}</code></p>\n<p>and load this page again.</p>\n</body>\n</html>\n"
    )


def commands_section(study: Study) -> str:
    """Return the section with commands that show these runs moment by moment and explain their slow
    reads."""
    seen = run_arguments(study)
    if not seen:
        return ""
    run = seen.partition(" --second=")[0]
    told = {
        "As they went, moment by moment:": f"sluice theatre {seen}",
        "The same as a short animation, for a slide:": f"sluice theatre {seen} --animation",
    }
    if not study.is_write_only:
        told |= {
            "What its slowest read waited for:": f"sluice why {run} --read=longest",
            "The machine when that read was queued, in gdb:": (
                f"sluice debug {run} --at=read:longest"
            ),
        }
    rows = "".join(
        f"<li>{words} <code>{escape(command)}</code></li>\n" for words, command in told.items()
    )
    how = f'<a href="{THEATRE}">Open in the theatre</a>, or see runs of it with these commands:'
    if not has_theatre(study):
        how = (
            "The twin made these runs. See them with these commands, which have a machine make "
            "them: its times are a little different."
        )
    left_out = f"\n<p>{NO_READ}</p>" if study.is_write_only else ""
    return f"<p>{how}</p>\n<ul>{rows}</ul>{left_out}"


def verdict_metrics(study: Study) -> list[str]:
    """Return the metrics that verdicts may name."""
    experiment = study.experiment
    named = [row["metric"] for row in experiment.expectations]
    contest = experiment.contest
    return named + ([*contest["metrics"], *contest["no_more"]] if contest else [])


def verdict_row(study: Study, verdict: Verdict) -> str:
    """Return the table row of an expectation: whether it was met, and why."""
    names = verdict_metrics(study)
    says, *came = (
        escape(wording.replace_metrics(line, names))
        for line in (verdict.says, verdict.why, *verdict.details, *verdict.origin)
    )
    kind = "explained" if verdict.is_explained else VERDICTS[verdict.met]
    told = "<br>".join(came)
    return f'<tr class="{kind}"><td><b>{verdict.word}</b></td><td>{says}</td><td>{told}</td></tr>\n'


def expectations_section(study: Study) -> str:
    """Return the table of the expectations, with whether they were met."""
    verdicts = expect.judge_experiment(study.experiment, study.results)
    if not verdicts:
        return "<p>The experiment states no expectations.</p>"
    body = "".join(verdict_row(study, verdict) for verdict in verdicts)
    head = row_cells(["", "Expected", "What came"], "th")
    return (
        f'<table class="expectations"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    )


def answer_paragraph(study: Study) -> str:
    """Return the paragraph with the result in a sentence, and how many expectations were met."""
    verdicts = expect.judge_experiment(study.experiment, study.results)
    sentence, tally = lead.lead_sentence(study), lead.verdict_counts(verdicts)
    kind = VERDICTS[not any(v.is_failed for v in verdicts)] if verdicts else VERDICTS[None]
    mark = f' <span class="tally {kind}">{escape(tally)}</span>' if tally else ""
    return f'<p class="answer">{escape(sentence)}{mark}</p>'


def warnings_section(study: Study) -> str:
    """Return the warnings that a reader must see before the figures."""
    lines = summary.trace_loss_lines(study.results)
    missing = len(study.experiment.runs) - len(study.results)
    if missing:
        lines.insert(0, f"{missing} of {len(study.experiment.runs)} runs have no result.")
    return "".join(f'<p class="warning">{escape(line)}</p>' for line in lines)


def figure_html(figure: Figure, picture: str) -> str:
    """Return a figure as HTML: title, picture, and below it an explanation."""
    name = escape(figure.name)
    return (
        f'<figure><h3>{escape(figure.title)}</h3><div id="{name}-choice"></div>'
        f'<div id="{name}" class="plot">{picture}</div>'
        f"<figcaption>{escape(figure.about)}</figcaption></figure>"
    )


def figures_html(figures: list[Figure], pictures: dict[str, str]) -> str:
    """Return several figures as HTML."""
    return "\n".join(figure_html(figure, pictures[figure.name]) for figure in figures)


def specs_script(figures: list[Figure]) -> str:
    """Return the specifications, by figure, as a value for a script: deflated JSON."""
    specs = {figure.name: figure.live_spec for figure in figures if figure.live}
    return script_value(deflate_text(script_value(specs).encode()))


def tables_script(figures: list[Figure]) -> str:
    """Return the packed tables, by figure, as a value for a script."""
    return script_value({figure.name: figure.tables for figure in figures if figure.tables})


def script_value(value: object) -> str:
    """Return a value as text that may stand in a script within a page."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).replace("</", "<\\/")


def fill_template(
    template: Path,
    title: str,
    words: Mapping[str, object],
    parts: dict[str, str],
    figures: list[Figure],
    more_style: str = "",
) -> str:
    """Return a page from its template. words: texts that must be escaped; parts: HTML."""
    common = {
        "head": page_head(title, page_style() + more_style, DRAWN, f"{PICTURES} blob:"),
        "library": drawing_script(),
        "specs": specs_script(figures),
        "packed": tables_script(figures),
        "draw": UNPACKER.read_text(encoding="utf-8") + DRAW.read_text(encoding="utf-8"),
    }
    escaped = {name: escape(str(word)) for name, word in words.items()}
    return Template(template.read_text(encoding="utf-8")).substitute(escaped, **parts, **common)


def report_page(study: Study, figures: list[Figure], pictures: dict[str, str]) -> str:
    """Return the whole page. pictures: the HTML of each figure's picture, by name."""
    experiment = study.experiment
    path = experiment.path.resolve()
    words = {
        "name": experiment.name,
        "claim": experiment.claim,
        "source": experiment.source,
        "about": theme.shared_text(study),
        "clock": sentence(summary.clock_note(study.results)),
        "file": path.relative_to(ROOT) if path.is_relative_to(ROOT) else path.name,
        "kernel": ", ".join(sorted({result["kernel"][:16] for result in study.results})),
        "runs": len(study.results),
    }
    parts = {
        "warnings": warnings_section(study),
        "answer": answer_paragraph(study),
        "lead": figures_html([f for f in figures if f.name == LEAD], pictures),
        "expectations": expectations_section(study),
        "table": summary_table(study),
        "figures": figures_html([f for f in figures if f.name != LEAD], pictures),
        "arms": arms_section(study),
        "to_see": commands_section(study),
    }
    return fill_template(TEMPLATE, experiment.name, words, parts, figures)
