"""Puts one run or two into a page that needs nothing else."""

import json
from html import escape
from pathlib import Path
from string import Template

from sluice.report import page, theme
from sluice.report.head import SCRIPT, head
from sluice.theatre.packing import packed_run

HERE = Path(__file__).parent
LIGHT = (theme.ARM_COLOURS[0], theme.ARM_COLOURS[2])  # of the two runs
DARK = (theme.ARM_COLOURS[5], theme.ARM_COLOURS[2])  # on a dark page


def title(scenes: list[dict]) -> str:
    """What the page is about."""
    first, *others = scenes
    arms = " and ".join(f"{s['name']} (run {s['run']})" for s in scenes)
    also = {s["experiment"] for s in others} - {first["experiment"]}
    return f"{first['experiment']}{''.join(f', {name}' for name in also)}: {arms}"


def in_words(policies: dict[str, str]) -> str:
    """Policies as they are typed."""
    return ", ".join(f"{kind}={name}" for kind, name in policies.items())


def running(scenes: list[dict]) -> str:
    """A sentence that says what runs, and in which policies two runs differ."""
    first, *others = scenes
    on = f"on a model of the drive {first['drive']}, in virtual time"
    if not others:
        return f"A run of {first['experiment']} {on}, with {in_words(first['policies'])}."
    [second] = others
    differ = [kind for kind, name in first["policies"].items() if second["policies"][kind] != name]
    arms = [
        f"{one['name']} has {in_words({kind: one['policies'][kind] for kind in differ})}"
        for one in scenes
    ]
    how = " and ".join(arms) if differ else "their policies are the same"
    return f"Two runs of {first['experiment']} {on}, drawn on one clock: {how}."


def colours(of_runs: tuple[str, ...]) -> str:
    """The runs' colours, as theatre.js asks for them."""
    return " ".join(f"--run{n}: {colour};" for n, colour in enumerate(of_runs))


def style(more: str = "") -> str:
    """The style of a page with the theatre in it; more: what else it has."""
    sheets = (
        page.STYLE.read_text(encoding="utf-8")
        + (HERE / "theatre.css").read_text(encoding="utf-8")
        + more
    )
    dark = f"@media (prefers-color-scheme: dark) {{ :root {{ {colours(DARK)} }} }}"
    return f"{sheets}:root {{ {colours(LIGHT)} }}\n{dark}\n"


def staged(scenes: list[dict]) -> str:
    """The page."""
    runs = [packed_run(scene) for scene in scenes]
    data = json.dumps(runs, separators=(",", ":")).replace("</", "<\\/")
    return Template((HERE / "theatre.html").read_text(encoding="utf-8")).substitute(
        title=escape(title(scenes)),
        running=escape(running(scenes)),
        head=head(title(scenes), style(), SCRIPT),
        stage=(HERE / "stage.html").read_text(encoding="utf-8"),
        scenes=data,
        script=(HERE / "theatre.js").read_text(encoding="utf-8"),
    )
