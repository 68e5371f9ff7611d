"""Show what the stored results say: {result}, {results}, {chart} and {measured}."""

from collections.abc import Callable

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective, SphinxRole

from book.ext import charts, markdown, stored
from book.ext.sphinx.drawing import inline_svg
from book.ext.stored import NotStored
from sluice.experiment.result import BadResult
from sluice.results import roles
from sluice.results.documents import Source, parse_source


class ResultRole(SphinxRole):
    """The role {result}: a number, with its interval if there is one."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the number's node, and an error if there is no such number."""
        come_from = parse_source(self.text)
        try:
            return [nodes.inline("", format_with_interval(come_from), classes=["result"])], []
        except NotStored:
            words = f"(not measured yet: sluice results store {come_from['from']})"
            return [nodes.emphasis("", words, classes=["not-measured"])], []
        except BadResult as error:
            return [nodes.inline("", "?")], [
                self.inliner.reporter.error(f"{{result}}: {error}", line=self.lineno)
            ]


def missing_note(names: list[str]) -> nodes.paragraph:
    """Return the paragraph that stands in place of figures that are lacking."""
    return nodes.paragraph("", stored.missing_sentence(*names), classes=["not-measured"])


class FromYaml(SphinxDirective):
    """A directive whose body is YAML. An error in the body is reported with its place."""

    has_content = True

    def make_nodes(self, body: dict) -> list[nodes.Node]:
        """Return the nodes for the body."""
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        """Return the nodes for the parsed body."""
        try:
            return self.make_nodes(yaml.safe_load("\n".join(self.content)))
        except (BadResult, yaml.YAMLError, KeyError, AttributeError) as error:
            said = f"lacks {error}" if isinstance(error, KeyError) else " ".join(str(error).split())
            raise self.error(f"{{{self.name}}}: {said}") from None


def table_sources(body: dict) -> dict[str, Source]:
    """Return the rows of a table: their labels, and what they add to the columns' sources."""
    if "rows" in body:
        return {str(label): parse_source(words) for label, words in body["rows"].items()}
    return {arm: {"arm": arm} for arm in stored.arm_names(stored.find_experiment(body["from"]))}


def number_or_dash(ask: Callable[[], str]) -> str:
    """Return the number, or "·" if its results are not stored."""
    try:
        return ask()
    except NotStored:
        return "·"


def format_with_interval(come_from: Source) -> str:
    """Return a number, with its interval if there is one."""
    text, sure = stored.format_value(come_from), stored.format_interval(come_from)
    return f"{text} ({sure})" if sure else text


def published_figure(come_from: Source) -> str:
    """Return the paper's figure for this source, in italics, or "".

    Differences from another arm, and figures of the paper's model, are none.
    """
    at = {k: v for k, v in come_from.items() if k not in ("from", "arm", "metric", "digits", "is")}
    for row in stored.find_experiment(come_from["from"]).get("published", []):
        where = {name: str(said) for name, said in row.get("where", {}).items()}
        if "than" in row or "whose" in row:
            continue
        if (row["arm"], row["metric"]) == (come_from["arm"], come_from["metric"]) and where == at:
            return f"*{markdown.escape(row['value'])}*"
    return ""


class Results(FromYaml):
    """The directive {results}: a table of stored results.

    Its body has `columns` (head: source), `rows` (label: source; all arms if not given), `paper:
    true` for a row with the paper's figures under each row that has any.
    """

    def make_nodes(self, body: dict) -> list[nodes.Node]:
        """Return the table, and a note if an experiment is not stored.

        A cell's source is its column's together with its row's. Below a row are the paper's
        figures, if there are any.
        """
        columns, lines = roles.parse_columns(body), []
        rows = table_sources(body)
        names = []  # of the experiments
        for label, row in rows.items():
            sources = [column | row for column in columns.values()]
            names += [one.get("from", "") for one in sources]
            values = [number_or_dash(lambda s=one: format_with_interval(s)) for one in sources]
            lines.append([markdown.escape(label), *values])
            paper = [published_figure(one) for one in sources] if body.get("paper") else []
            if any(paper):
                lines.append(["*the paper*", *paper])
        text = markdown.format_table(["", *map(markdown.escape, columns)], lines)
        made = self.parse_text_to_nodes(text)
        if stored.describe_missing(*names):
            made.append(missing_note(names))
        return made


class Chart(FromYaml):
    """The directive {chart}: lines along a variable, or bars if `along` is not given.

    Its body has `metrics` (title: metric).
    """

    def make_nodes(self, body: dict) -> list[nodes.Node]:
        """Return the picture with its caption, or a note that the experiment is not stored."""
        name = body["from"]
        toml = stored.find_experiment(name)
        arms = body.get("arms", stored.arm_names(toml))
        for arm in arms:
            for metric in body["metrics"].values():
                stored.check_source({"from": name, "arm": arm, "metric": metric})
        if not stored.is_stored(name):
            return [missing_note([name])]
        svg = charts.render_svg(stored.read_results(name), body, arms)
        figure = nodes.figure()
        figure += inline_svg(svg, body["says"])
        figure += nodes.caption("", f"{body['says']} ({name})")
        return [figure]


class Measured(SphinxDirective):
    """The directive {measured}: a body that needs stored results of these experiments.

    Without them a sentence says what is lacking.
    """

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the body's nodes, or the paragraph that says what is lacking."""
        names = self.arguments[0].split()
        try:
            lacking = [name for name in names if not stored.is_stored(name)]
        except BadResult as error:
            raise self.error(f"{{measured}}: {error}") from None
        return [missing_note(lacking)] if lacking else self.parse_content_to_nodes()


def setup(app: Sphinx) -> None:
    """Register the role and the directives."""
    app.add_role("result", ResultRole(), override=True)
    app.add_directive("results", Results)
    app.add_directive("chart", Chart)
    app.add_directive("measured", Measured)
