"""{findings}: what a paper says and what we find, experiment by experiment.

The directive's argument is a part of the experiments' `source`, or names of theirs after `of:`;
`rest` stands for all experiments that no other page shows.
"""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from book.ext import markdown, stored
from book.ext.inventory import Experiment, list_experiments
from book.ext.sphinx.drawing import PAGES
from book.ext.sphinx.published import cell_table, cells_of
from sluice.experiment.findings import count_apart, count_by_paper
from sluice.experiment.verdict import DIFFERS
from sluice.results import store

MARK = "{findings}"


def find_experiments(words: str) -> list[Experiment]:
    """Return the experiments whose source has these words, or that have these names."""
    if words.startswith("of:"):
        names = words[3:].split()
        return [one for one in list_experiments() if one.name in names]
    return [one for one in list_experiments() if words.lower() in one.source.lower()]


def shown_experiments() -> set[str]:
    """Return the experiments that pages show, without those of `rest`."""
    found: set[str] = set()
    for path in PAGES.rglob("*.md"):
        for line in path.read_text(encoding="utf-8").splitlines():
            words = line.partition(MARK)[2].strip()
            if line.lstrip("`:").startswith(MARK) and words != "rest":
                found |= {one.name for one in find_experiments(words)}
    return found


def remaining_experiments() -> list[Experiment]:
    """Return the experiments that no page shows."""
    hidden = shown_experiments()
    return [one for one in list_experiments() if one.name not in hidden]


def published_table(one: Experiment) -> str:
    """Return the paper's figures and ours, as a table; "" if the experiment names none."""
    return cell_table(list(cells_of(one)), linked=False)


def verdict_figures(verdict: dict, one: Experiment) -> str:
    """Return the figures of a stored verdict, what the source says, and why the result differs."""
    rows = {row["says"]: row for row in one.toml.get("expectations", [])}
    row, told = rows.get(verdict["says"], {}), [verdict["why"]]
    if "paper" in row:
        told.append(f"the paper: {row['paper']}")
    if verdict["word"] == DIFFERS:
        told.append(f"why it differs: {row['differs']}")
    return markdown.escape("; ".join(told))


def verdict_table(one: Experiment) -> str:
    """Return what was expected, with the stored verdicts if there are any, as a table."""
    kept = stored.read_results(one.name).get("verdicts") if stored.is_stored(one.name) else None
    if kept:
        rows = [[markdown.escape(v["says"]), v["word"], verdict_figures(v, one)] for v in kept]
        return markdown.format_table(["expected", "came", "figures"], rows)
    rows = [[markdown.escape(row["says"])] for row in one.toml.get("expectations", [])]
    return markdown.format_table(["expected"], rows) if rows else ""


def format_experiment(one: Experiment) -> str:
    """Return an experiment as Markdown."""
    lacking = stored.missing_sentence(one.name)
    parts = [
        f"**{{doc}}`/reference/experiments/{one.name}`.** {markdown.escape(one.claim)}\n",
        published_table(one),
        verdict_table(one),
        f"*{lacking}*\n" if lacking else "",
    ]
    return "\n".join(part for part in parts if part)


class Findings(SphinxDirective):
    """The directive {findings}; see the head of the file."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Return the nodes of the chosen experiments."""
        words = self.arguments[0]
        chosen = remaining_experiments() if words == "rest" else find_experiments(words)
        if not chosen and words != "rest":
            raise self.error(f'{{findings}}: no experiment has the source "{words}"')
        return self.parse_text_to_nodes("\n\n".join(map(format_experiment, chosen)))


# ---- all papers ----


def count_table(rows: list[list[str]]) -> str:
    """Return a table of counts as Markdown; "" if it has no rows."""
    if not rows:
        return ""
    named = [[markdown.escape(name), *counts] for name, *counts in rows[1:]]
    return markdown.format_table(["", *rows[0][1:]], named)


class Tally(SphinxDirective):
    """The directive {tally}: how many findings the stored results confirm, of each paper."""

    def run(self) -> list[nodes.Node]:
        """Return the nodes of the two tables."""
        found, lacking = [], []
        for one in list_experiments():
            try:
                found += store.stored_findings(stored.read_results(one.name))
            except (stored.NotStored, stored.BadResult):
                lacking.append(f"`sluice results store {one.name}`")
        tables = [count_table(rows) for rows in (count_by_paper(found), count_apart(found))]
        without = f"Not in these tables yet: {', '.join(lacking)}." if lacking else ""
        return self.parse_text_to_nodes("\n\n".join(filter(None, [*tables, without])))


# ---- contests ----

COLUMNS = ("settings", "mean", "spread", "longest", "writes", "others")
KINDS = {"mean": "mean", "std": "spread", "max": "longest"}


def metric_column(match: dict) -> str:
    """Return the column of a metric of a contest."""
    if match["against"]:
        return "writes"
    return KINDS.get(match["metric"].rpartition(".")[2].split("_")[0], "others")


def count_wins(matches: list[dict]) -> str:
    """Return in how many settings the arm won.

    If it lost some, also the arm that was most ahead of it, by how many percent, and the interval.
    """
    won = sum(match["won"] is True for match in matches)
    lost = [match for match in matches if match["won"] is False and match["behind"] is not None]
    if not lost:
        return str(won)
    worst = max(lost, key=lambda match: match["behind"])
    ends = worst.get("behind_ends")  # older results lack this interval
    sure = f" ({100 * ends[0]:.2g} to {100 * ends[1]:.2g})" if ends else ""
    return f"{won}; {markdown.escape(worst['best'])}, {100 * worst['behind']:.2g} %{sure}"


def contest_row(one: Experiment) -> list[str]:
    """Return an experiment's row: settings, and wins by metric. Dots: nothing is stored yet."""
    label = f"{{doc}}`/reference/experiments/{one.name}`"
    kept = stored.read_results(one.name).get("contest") if stored.is_stored(one.name) else None
    if not kept:
        return [label, *"·" * len(COLUMNS)]
    settings = {str(match["at"]) for match in kept}
    cells = [count_wins([m for m in kept if metric_column(m) == name]) for name in COLUMNS[1:]]
    played = {metric_column(match) for match in kept}
    shown = [c if name in played else "" for name, c in zip(COLUMNS[1:], cells, strict=True)]
    return [label, str(len(settings)), *shown]


class Contest(SphinxDirective):
    """The directive {contest}: the experiments that have one, and where their arm won."""

    def run(self) -> list[nodes.Node]:
        """Return the nodes of the table."""
        there = [one for one in list_experiments() if "contest" in one.toml]
        lacking = stored.missing_sentence(*(one.name for one in there))
        text = markdown.format_table(["", *COLUMNS], map(contest_row, there))
        return self.parse_text_to_nodes(f"{text}\n{f'*{lacking}*' if lacking else ''}\n")


def setup(app: Sphinx) -> None:
    """Register the directives."""
    app.add_directive("findings", Findings)
    app.add_directive("contest", Contest)
    app.add_directive("tally", Tally)
