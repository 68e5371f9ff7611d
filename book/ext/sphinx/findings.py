"""{findings}: what a paper says and what we find, experiment by experiment.

The directive's argument is a part of the experiments' `source`, or names of theirs after `of:`;
`rest` stands for all experiments that no other page shows.
"""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from book.ext import markdown, stored
from book.ext.inventory import Experiment, experiments
from book.ext.sphinx.drawing import PAGES
from book.ext.sphinx.measured import with_interval
from sluice.experiment.findings import counted, unsure
from sluice.experiment.verdict import DIFFERS
from sluice.results import store

MARK = "{findings}"


def about(words: str) -> list[Experiment]:
    """The experiments whose source has these words, or that have these names."""
    if words.startswith("of:"):
        names = words[3:].split()
        return [one for one in experiments() if one.name in names]
    return [one for one in experiments() if words.lower() in one.source.lower()]


def shown() -> set[str]:
    """The experiments that pages show, without those of `rest`."""
    found: set[str] = set()
    for path in PAGES.rglob("*.md"):
        for line in path.read_text(encoding="utf-8").splitlines():
            words = line.partition(MARK)[2].strip()
            if line.lstrip("`:").startswith(MARK) and words != "rest":
                found |= {one.name for one in about(words)}
    return found


def rest() -> list[Experiment]:
    hidden = shown()
    return [one for one in experiments() if one.name not in hidden]


def beside(one: Experiment) -> str:
    """The paper's figures and ours, as a table; "" if the experiment names none."""
    rows = []
    for row in one.toml.get("published", []):
        where = {name: str(said) for name, said in row.get("where", {}).items()}
        come_from = {"from": one.name, "arm": row["arm"], "metric": row["metric"], **where}
        try:
            ours = with_interval(come_from)
        except stored.NotStored:
            ours = "·"
        except stored.BadResult:
            ours = "(several settings)"
        at = ", ".join(f"{name} {said}" for name, said in where.items())
        told = [row["arm"], at, f"`{row['metric']}`", f"*{markdown.plain(row['value'])}*", ours]
        rows.append(told)
    heads = ["arm", "at", "metric", "the paper", "here"]
    return markdown.table(heads, rows) if rows else ""


def figures(verdict: dict, one: Experiment) -> str:
    """The figures of a stored verdict, what the source says, and why the result differs."""
    rows = {row["says"]: row for row in one.toml.get("expectations", [])}
    row, told = rows.get(verdict["says"], {}), [verdict["why"]]
    if "paper" in row:
        told.append(f"the paper: {row['paper']}")
    if verdict["word"] == DIFFERS:
        told.append(f"why it differs: {row['differs']}")
    return markdown.plain("; ".join(told))


def verdicts(one: Experiment) -> str:
    """What was expected, and what came of it as far as it is stored."""
    kept = stored.read(one.name).get("verdicts") if stored.is_stored(one.name) else None
    if kept:
        rows = [[markdown.plain(v["says"]), v["word"], figures(v, one)] for v in kept]
        return markdown.table(["expected", "came", "figures"], rows)
    rows = [[markdown.plain(row["says"])] for row in one.toml.get("expectations", [])]
    return markdown.table(["expected"], rows) if rows else ""


def told(one: Experiment) -> str:
    """An experiment as Markdown."""
    lacking = stored.sentence(one.name)
    parts = [
        f"**{{doc}}`/reference/experiments/{one.name}`.** {markdown.plain(one.claim)}\n",
        beside(one),
        verdicts(one),
        f"*{lacking}*\n" if lacking else "",
    ]
    return "\n".join(part for part in parts if part)


class Findings(SphinxDirective):
    """See the head of the file."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        words = self.arguments[0]
        chosen = rest() if words == "rest" else about(words)
        if not chosen and words != "rest":
            raise self.error(f'{{findings}}: no experiment has the source "{words}"')
        return self.parse_text_to_nodes("\n\n".join(map(told, chosen)))


# ---- all papers ----


class Tally(SphinxDirective):
    """How many findings of each paper the stored results of all experiments confirm."""

    def run(self) -> list[nodes.Node]:
        found, lacking = [], []
        for one in experiments():
            try:
                found += store.found(stored.read(one.name))
            except (stored.NotStored, stored.BadResult):
                lacking.append(f"`make results E={one.name}`")
        rows = [[markdown.plain(name), *counts] for name, *counts in counted(found)]
        text = markdown.table(["", *rows[0][1:]], rows[1:]) if rows else ""
        without = f"Not in this table yet: {', '.join(lacking)}." if lacking else ""
        parts = [text, unsure(found), without]
        return self.parse_text_to_nodes("\n\n".join(filter(None, parts)))


# ---- contests ----

COLUMNS = ("settings", "mean", "spread", "longest", "writes", "others")
KINDS = {"mean": "mean", "std": "spread", "max": "longest"}


def column(match: dict) -> str:
    """The column of a metric of a contest."""
    if match["against"]:
        return "writes"
    return KINDS.get(match["metric"].rpartition(".")[2].split("_")[0], "others")


def tally(matches: list[dict]) -> str:
    """In how many settings the arm won, and who was ahead at most otherwise."""
    won = sum(match["won"] is True for match in matches)
    lost = [match for match in matches if match["won"] is False and match["behind"] is not None]
    if not lost:
        return str(won)
    worst = max(lost, key=lambda match: match["behind"])
    ends = worst.get("behind_ends")  # not in results of before it was stored
    sure = f" ({100 * ends[0]:.2g} to {100 * ends[1]:.2g})" if ends else ""
    return f"{won}; {markdown.plain(worst['best'])}, {100 * worst['behind']:.2g} %{sure}"


def contest_row(one: Experiment) -> list[str]:
    """An experiment's row."""
    label = f"{{doc}}`/reference/experiments/{one.name}`"
    kept = stored.read(one.name).get("contest") if stored.is_stored(one.name) else None
    if not kept:
        return [label, *"·" * len(COLUMNS)]
    settings = {str(match["at"]) for match in kept}
    cells = [tally([m for m in kept if column(m) == name]) for name in COLUMNS[1:]]
    played = {column(match) for match in kept}
    shown = [c if name in played else "" for name, c in zip(COLUMNS[1:], cells, strict=True)]
    return [label, str(len(settings)), *shown]


class Contest(SphinxDirective):
    """All contests: the experiments that have one, and where their arm won."""

    def run(self) -> list[nodes.Node]:
        there = [one for one in experiments() if "contest" in one.toml]
        lacking = stored.sentence(*(one.name for one in there))
        text = markdown.table(["", *COLUMNS], map(contest_row, there))
        return self.parse_text_to_nodes(f"{text}\n{f'*{lacking}*' if lacking else ''}\n")


def setup(app: Sphinx) -> None:
    app.add_directive("findings", Findings)
    app.add_directive("contest", Contest)
    app.add_directive("tally", Tally)
