"""The page of an experiment: its claim, its result in one sentence, the picture that shows it, the
expectations, the numbers, all other figures, and at the end how the runs were made. The words and
tables are made here and put into page.html.
"""

import json
from functools import cache
from html import escape
from pathlib import Path
from string import Template
from tempfile import TemporaryDirectory

import vl_convert

from sluice.experiment import expect, summary
from sluice.experiment.load import FULL
from sluice.experiment.schema import MACHINE_ENGINE
from sluice.experiment.selection import EXPERIMENTS
from sluice.experiment.verdict import Verdict
from sluice.host.paths import BUILD, ROOT
from sluice.report import lead, theme, wording
from sluice.report.figures import LEAD, Figure
from sluice.report.head import DRAWN, PICTURES, head
from sluice.report.study import Study

TEMPLATE = Path(__file__).with_name("page.html")
STYLE = Path(__file__).with_name("style.css")
FIGURES_STYLE = Path(__file__).with_name("figures.css")
DRAW = Path(__file__).with_name("draw.js")
VERDICTS = {True: "met", False: "unmet", None: "open"}
NOTES = {summary.SPREAD: "spread", summary.MODEL: "model", summary.PUBLISHED: "published"}


LIBRARY = BUILD / f"drawing-{vl_convert.__version__}.js"


@cache
def library() -> str:
    """The script that draws, with everything that it needs.

    Bundling it takes 12 s of processor time, so the first page of a tree keeps it for all others.
    """
    if not LIBRARY.exists():
        LIBRARY.parent.mkdir(exist_ok=True)
        with TemporaryDirectory(dir=LIBRARY.parent) as folder:
            made = Path(folder, LIBRARY.name)
            made.write_text(
                vl_convert.javascript_bundle().replace("</script", "<\\/script"), encoding="utf-8"
            )
            made.replace(LIBRARY)
    return LIBRARY.read_text(encoding="utf-8")


def style() -> str:
    """The style of pages with figures."""
    return STYLE.read_text(encoding="utf-8") + FIGURES_STYLE.read_text(encoding="utf-8")


def cells(row: list[str], tag: str) -> str:
    """The cells of one row."""
    return "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row)


def heads(study: Study) -> str:
    """The heads of the table: each metric in words, with its unit below."""
    said = [wording.words(column) for column in study.experiment.plot["columns"]]
    units = [f"<small>{escape(w.unit)}</small>" if w.heading != w.text else "" for w in said]
    cells_of = [f"<th>{escape(w.capital)}{u}</th>" for w, u in zip(said, units, strict=True)]
    return f"<tr><th></th><th>Trials</th>{''.join(cells_of)}</tr>"


def table(study: Study) -> str:
    """The table that the terminal shows, with its heads in words."""
    if not study.experiment.plot["columns"]:
        return "<p>The experiment names no columns to show.</p>"
    body = ""
    for row in summary.table(study.experiment, study.results)[2:]:
        kind = f' class="{NOTES[row[0]]}"' if row[0] in NOTES else ""
        body += f"<tr{kind}>{cells(row, 'td')}</tr>\n"
    sure = summary.sureness(study.results)
    told = f'<caption class="about">{escape(sure[0].upper() + sure[1:])}.</caption>'
    head = f"<thead>{heads(study)}</thead>"
    return f'<table class="numbers">{told}{head}\n<tbody>{body}</tbody></table>'


def arms(study: Study) -> str:
    """Each arm, with the settings that only it has."""
    own = theme.own(study)
    rows = "".join(
        f"<tr><td>{escape(arm)}</td><td>{escape(own[arm])}</td></tr>\n" for arm in study.arms
    )
    return f'<table class="arms">{rows}</table>'


def numbers(study: Study) -> list[int]:
    """The runs to look at: one of each arm that the first sentence names, or of the first two arms,
    with equal variables."""
    arms = (lead.named(study) or study.arms)[:2]
    found: dict[str, dict[str, int]] = {}
    for run in study.experiment.runs:
        if run.arm in arms:
            found.setdefault(str(run.variables), {}).setdefault(run.arm, run.number)
    return list(max(found.values(), key=len, default={}).values())


NO_READ = "This load only writes, so no read of it waits. (<code>make why</code> explains reads.)"
THEATRE = "theatre.html"  # beside a report; `make theatre` puts the theatre there


def seen_with(study: Study) -> str:
    """What the commands say of the runs to look at: E=, SIZE=, N= and N2=. Nothing if there are no
    runs, or if a policy of WITH= is among the arms: the commands do not know WITH=."""
    of, which = study.experiment, numbers(study)
    if not which or of.policy:
        return ""
    name = of.path.stem if of.path.is_relative_to(EXPERIMENTS) else str(of.path)
    size = f" SIZE={of.size}" if of.size != FULL else ""
    second = "".join(f" N2={n}" for n in which[1:])
    return f"E={name}{size} N={which[0]}{second}"


def opens_theatre(study: Study) -> bool:
    """Whether `make theatre` puts the theatre of these runs beside the report. It shows what a
    machine does, never the twin."""
    return bool(seen_with(study)) and study.experiment.engine == MACHINE_ENGINE


def not_yet(study: Study) -> str:
    """The page that is where the theatre will be."""
    command = escape(f"make theatre {seen_with(study)}")
    return head(f"{study.experiment.name} in the theatre", style()) + (
        '<body class="report">\n<h1>The theatre is not made yet</h1>\n'
        "<p>It shows runs as they went, and takes seconds to make. In Sluice's tree, type</p>\n"
        f"<p><code>{command}</code></p>\n<p>and load this page again.</p>\n</body>\n</html>\n"
    )


def to_see(study: Study) -> str:
    """The commands that show these runs as they went, and why reads of them took so long."""
    seen = seen_with(study)
    if not seen:
        return ""
    run = seen.partition(" N2=")[0]
    told = {
        "As they went, moment by moment:": f"make theatre {seen}",
        "The same as a short animation, for a slide:": f"make animation {seen}",
    }
    if not study.only_writes:
        told |= {
            "What its slowest read waited for:": f"make why {run} READ=longest",
            "The machine when that read was queued, in gdb:": f"make replay {run} AT=read:longest",
        }
    rows = "".join(
        f"<li>{words} <code>{escape(command)}</code></li>\n" for words, command in told.items()
    )
    how = f'<a href="{THEATRE}">Open in the theatre</a>, or see runs of it with these commands:'
    if not opens_theatre(study):
        how = (
            "The twin made these runs. See them with these commands, which have a machine make "
            "them: its times are a little different."
        )
    left_out = f"\n<p>{NO_READ}</p>" if study.only_writes else ""
    return f"<p>{how}</p>\n<ul>{rows}</ul>{left_out}"


def metrics_of(study: Study) -> list[str]:
    """The metrics that verdicts may name."""
    of = study.experiment
    named = [row["metric"] for row in of.expectations]
    return named + ([*of.contest["metrics"], *of.contest["no_more"]] if of.contest else [])


def verdict_row(study: Study, verdict: Verdict) -> str:
    """A row: an expectation, and whether it was met."""
    names = metrics_of(study)
    says, *came = (
        escape(wording.in_words(line, names))
        for line in (verdict.says, verdict.why, *verdict.details, *verdict.origin)
    )
    kind = "explained" if verdict.explained else VERDICTS[verdict.met]
    told = "<br>".join(came)
    return f'<tr class="{kind}"><td><b>{verdict.word}</b></td><td>{says}</td><td>{told}</td></tr>\n'


def expectations(study: Study) -> str:
    """The expectations, and whether they were met."""
    verdicts = expect.judge(study.experiment, study.results)
    if not verdicts:
        return "<p>The experiment states no expectations.</p>"
    body = "".join(verdict_row(study, verdict) for verdict in verdicts)
    head = cells(["", "Expected", "What came"], "th")
    return (
        f'<table class="expectations"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    )


def answer(study: Study) -> str:
    """The result of the claim in a sentence, and how many expectations were met."""
    verdicts = expect.judge(study.experiment, study.results)
    sentence, tally = lead.sentence(study), lead.tally(verdicts)
    kind = VERDICTS[not any(v.failed for v in verdicts)] if verdicts else VERDICTS[None]
    mark = f' <span class="tally {kind}">{escape(tally)}</span>' if tally else ""
    return f'<p class="answer">{escape(sentence)}{mark}</p>'


def warnings(study: Study) -> str:
    """What the reader must know before the figures."""
    lines = summary.losses(study.results)
    missing = len(study.experiment.runs) - len(study.results)
    if missing:
        lines.insert(0, f"{missing} of {len(study.experiment.runs)} runs have no result.")
    return "".join(f'<p class="warning">{escape(line)}</p>' for line in lines)


def place(figure: Figure, picture: str) -> str:
    """A figure: its title, its picture, and below it an explanation."""
    name = escape(figure.name)
    return (
        f'<figure><h3>{escape(figure.title)}</h3><div id="{name}-choice"></div>'
        f'<div id="{name}" class="plot">{picture}</div>'
        f"<figcaption>{escape(figure.about)}</figcaption></figure>"
    )


def places(figures: list[Figure], pictures: dict[str, str]) -> str:
    return "\n".join(place(figure, pictures[figure.name]) for figure in figures)


def specs(figures: list[Figure]) -> str:
    """The specifications as a value of a script."""
    value = {figure.name: figure.bare for figure in figures if figure.live}
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).replace("</", "<\\/")


def filled(
    template: Path,
    title: str,
    words: dict[str, object],
    parts: dict[str, str],
    figures: list[Figure],
    more_style: str = "",
) -> str:
    """A page from its template: words to be escaped, parts that are HTML, and what all pages
    have."""
    common = {
        "head": head(title, style() + more_style, DRAWN, f"{PICTURES} blob:"),
        "library": library(),
        "specs": specs(figures),
        "draw": DRAW.read_text(encoding="utf-8"),
    }
    escaped = {name: escape(str(word)) for name, word in words.items()}
    return Template(template.read_text(encoding="utf-8")).substitute(escaped, **parts, **common)


def text(study: Study, figures: list[Figure], pictures: dict[str, str]) -> str:
    """The whole page. pictures: the parts of the page for each figure, by name."""
    experiment = study.experiment
    path = experiment.path.resolve()
    words = {
        "name": experiment.name,
        "claim": experiment.claim,
        "source": experiment.source,
        "about": theme.shared(study),
        "file": path.relative_to(ROOT) if path.is_relative_to(ROOT) else path.name,
        "kernel": ", ".join(sorted({result["kernel"][:16] for result in study.results})),
        "runs": len(study.results),
    }
    parts = {
        "warnings": warnings(study),
        "answer": answer(study),
        "lead": places([f for f in figures if f.name == LEAD], pictures),
        "expectations": expectations(study),
        "table": table(study),
        "figures": places([f for f in figures if f.name != LEAD], pictures),
        "arms": arms(study),
        "to_see": to_see(study),
    }
    return filled(TEMPLATE, experiment.name, words, parts, figures)
