"""The page: the words and tables around the figures, put into page.html."""

import json
from functools import cache
from html import escape
from pathlib import Path
from string import Template

import vl_convert

from grade.host.paths import ROOT
from grade.measure import expect, summary
from grade.report import theme
from grade.report.figures import Figure
from grade.report.study import Study

TEMPLATE = Path(__file__).with_name("page.html")
STYLE = Path(__file__).with_name("style.css")
DRAW = Path(__file__).with_name("draw.js")
VERDICTS = {True: "met", False: "unmet", None: "open"}


@cache
def library() -> str:
    """The script that draws, with all that it needs."""
    return vl_convert.javascript_bundle().replace("</script", "<\\/script")


def cells(row: list[str], tag: str) -> str:
    """The cells of one row."""
    return "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row)


def table(study: Study) -> str:
    """The table that the terminal shows."""
    if not study.experiment.plot["columns"]:
        return "<p>The experiment names no columns to show.</p>"
    rows = summary.table(study.experiment, study.results)
    head = "".join(f"<tr>{cells(row, 'th')}</tr>" for row in rows[:2])
    body = ""
    for row in rows[2:]:
        note = row[0] in (summary.PUBLISHED, summary.MODEL)
        kind = f' class="{row[0].strip()}"' if note else ""
        body += f"<tr{kind}>{cells(row, 'td')}</tr>\n"
    return f"<table><thead>{head}</thead>\n<tbody>{body}</tbody></table>"


def arms(study: Study) -> str:
    """Each arm, its colour, and what is its own."""
    colours, own = theme.colours(study), theme.own(study)
    rows = ""
    for arm in study.arms:
        swatch = f'<span class="swatch" style="background: {colours[arm]}"></span>'
        rows += f"<tr><td>{swatch}{escape(arm)}</td><td>{escape(own[arm])}</td></tr>\n"
    return f'<table class="arms">{rows}</table>'


def expectations(study: Study) -> str:
    """What was expected, and whether it came."""
    items = [
        f'<li class="{VERDICTS[verdict.met]}"><b>{verdict.word}</b> {escape(verdict.says)}'
        f"<small>{'<br>'.join(map(escape, (verdict.why, *verdict.details)))}</small></li>"
        for verdict in expect.judge(study.experiment, study.results)
    ]
    if not items:
        return "<p>The experiment states no expectations.</p>"
    return f'<ul class="expectations">{"".join(items)}</ul>'


def warnings(study: Study) -> str:
    """What the reader must know before the figures."""
    lines = summary.losses(study.results)
    missing = len(study.experiment.runs) - len(study.results)
    if missing:
        lines.insert(0, f"{missing} of {len(study.experiment.runs)} runs have no result.")
    return "".join(f'<p class="warning">{escape(line)}</p>' for line in lines)


def place(figure: Figure) -> str:
    """Where a figure will be drawn."""
    name = escape(figure.name)
    caption = f"<figcaption>{escape(figure.about)}</figcaption>"
    return f'<figure>{caption}<div id="{name}-choice"></div><div id="{name}"></div></figure>'


def specs(figures: list[Figure]) -> str:
    """The specifications as a script's value."""
    value = {figure.name: figure.spec for figure in figures}
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).replace("</", "<\\/")


def filled(
    template: Path, words: dict[str, object], parts: dict[str, str], figures: list[Figure]
) -> str:
    """A page: words to be escaped and parts that are HTML put in, with what all pages have."""
    common = {
        "style": STYLE.read_text(),
        "figures": "\n".join(map(place, figures)),
        "library": library(),
        "specs": specs(figures),
        "draw": DRAW.read_text(),
    }
    escaped = {name: escape(str(word)) for name, word in words.items()}
    return Template(template.read_text()).substitute(escaped, **parts, **common)


def text(study: Study, figures: list[Figure]) -> str:
    """The whole page."""
    experiment = study.experiment
    path = experiment.path.resolve()
    words = {
        "name": experiment.name,
        "claim": experiment.claim,
        "source": experiment.source,
        "about": theme.shared(study),
        "file": path.relative_to(ROOT) if path.is_relative_to(ROOT) else path.name,
        "kernel": ", ".join(sorted({result["kernel"][:16] for result in study.results})),
    }
    parts = {
        "warnings": warnings(study),
        "arms": arms(study),
        "table": table(study),
        "expectations": expectations(study),
    }
    return filled(TEMPLATE, words, parts, figures)
