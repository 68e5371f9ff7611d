"""Puts one run or two into a page that needs nothing else."""

import json
from html import escape
from pathlib import Path
from string import Template

from sluice.report import page, theme
from sluice.report.columns import UNPACKER
from sluice.report.head import SCRIPT, page_head
from sluice.theatre.packing import pack_run
from sluice.theatre.scene import Scene

HERE = Path(__file__).parent
LIGHT = (theme.ARM_COLOURS[0], theme.ARM_COLOURS[2])  # of the two runs
DARK = (theme.ARM_COLOURS[5], theme.ARM_COLOURS[2])  # on a dark page


def page_title(scenes: list[Scene]) -> str:
    """Return the title of the page: the experiment and its runs."""
    first, *others = scenes
    arms = " and ".join(f"{s['name']} (run {s['run']})" for s in scenes)
    also = {s["experiment"] for s in others} - {first["experiment"]}
    return f"{first['experiment']}{''.join(f', {name}' for name in also)}: {arms}"


def policy_words(policies: dict[str, str]) -> str:
    """Return policies in the form in which a user types them."""
    return ", ".join(f"{kind}={name}" for kind, name in policies.items())


def describe_runs(scenes: list[Scene]) -> str:
    """Return a sentence about what runs, and in which policies two runs differ."""
    first, *others = scenes
    on = f"on a model of the drive {first['drive']}, in virtual time"
    if not others:
        return f"A run of {first['experiment']} {on}, with {policy_words(first['policies'])}."
    [second] = others
    differ = [kind for kind, name in first["policies"].items() if second["policies"][kind] != name]
    arms = [
        f"{one['name']} has {policy_words({kind: one['policies'][kind] for kind in differ})}"
        for one in scenes
    ]
    how = " and ".join(arms) if differ else "their policies are the same"
    return f"Two runs of {first['experiment']} {on}, drawn on one clock: {how}."


def run_colours(of_runs: tuple[str, ...]) -> str:
    """Return the CSS variables of the runs' colours, which theatre.js reads."""
    return " ".join(f"--run{n}: {colour};" for n, colour in enumerate(of_runs))


def page_style(more: str = "") -> str:
    """Return the style of a page that has the theatre in it. more: the style of its other parts."""
    sheets = (
        page.STYLE.read_text(encoding="utf-8")
        + (HERE / "theatre.css").read_text(encoding="utf-8")
        + more
    )
    dark = f"@media (prefers-color-scheme: dark) {{ :root {{ {run_colours(DARK)} }} }}"
    return f"{sheets}:root {{ {run_colours(LIGHT)} }}\n{dark}\n"


def theatre_page(scenes: list[Scene]) -> str:
    """Return the theatre's page of some runs as HTML."""
    runs = [pack_run(scene) for scene in scenes]
    data = json.dumps(runs, separators=(",", ":")).replace("</", "<\\/")
    return Template((HERE / "theatre.html").read_text(encoding="utf-8")).substitute(
        title=escape(page_title(scenes)),
        running=escape(describe_runs(scenes)),
        head=page_head(page_title(scenes), page_style(), SCRIPT),
        stage=(HERE / "stage.html").read_text(encoding="utf-8"),
        scenes=data,
        script=UNPACKER.read_text(encoding="utf-8")
        + (HERE / "theatre.js").read_text(encoding="utf-8"),
    )
