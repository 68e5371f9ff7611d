"""{result}, {results}, {chart} and {measured}: what the stored results say."""

from collections.abc import Callable

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective, SphinxRole

from book.ext import charts, markdown, stored
from book.ext.sphinx.drawing import inline
from book.ext.stored import NotStored
from sluice.experiment.result import BadResult
from sluice.results import roles
from sluice.results.documents import Source, source


class ResultRole(SphinxRole):
    """A number, with its interval if there is one."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        come_from = source(self.text)
        try:
            return [nodes.inline("", with_interval(come_from), classes=["result"])], []
        except NotStored:
            words = f"(not measured yet: make results E={come_from['from']})"
            return [nodes.emphasis("", words, classes=["not-measured"])], []
        except BadResult as error:
            return [nodes.inline("", "?")], [
                self.inliner.reporter.error(f"{{result}}: {error}", line=self.lineno)
            ]


def missing(names: list[str]) -> nodes.paragraph:
    """What stands in place of figures that are lacking."""
    return nodes.paragraph("", stored.sentence(*names), classes=["not-measured"])


class FromYaml(SphinxDirective):
    """A directive whose body is YAML; what is wrong with it is told with its place."""

    has_content = True

    def made(self, body: dict) -> list[nodes.Node]:
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        try:
            return self.made(yaml.safe_load("\n".join(self.content)))
        except (BadResult, yaml.YAMLError, KeyError, AttributeError) as error:
            said = f"lacks {error}" if isinstance(error, KeyError) else " ".join(str(error).split())
            raise self.error(f"{{{self.name}}}: {said}") from None


def rows_of(body: dict) -> dict[str, Source]:
    """The rows of a table: their labels, and what they add to the columns' sources."""
    if "rows" in body:
        return {str(label): source(words) for label, words in body["rows"].items()}
    return {arm: {"arm": arm} for arm in stored.arms(stored.named(body["from"]))}


def or_dash(ask: Callable[[], str]) -> str:
    try:
        return ask()
    except NotStored:
        return "·"


def with_interval(come_from: Source) -> str:
    """A number, and its interval if there is one."""
    text, sure = stored.value(come_from), stored.interval(come_from)
    return f"{text} ({sure})" if sure else text


def published(come_from: Source) -> str:
    """The paper's figure for this, in italics, or ""."""
    at = {k: v for k, v in come_from.items() if k not in ("from", "arm", "metric", "digits", "is")}
    for row in stored.named(come_from["from"]).get("published", []):
        where = {name: str(said) for name, said in row.get("where", {}).items()}
        if (row["arm"], row["metric"]) == (come_from["arm"], come_from["metric"]) and where == at:
            return f"*{markdown.plain(row['value'])}*"
    return ""


class Results(FromYaml):
    """A table: `columns` (head: source), `rows` (label: source; all arms if not given),
    `paper: true` for a row with the paper's figures under each row that has any."""

    def made(self, body: dict) -> list[nodes.Node]:
        columns, lines = roles.columns(body), []
        rows = rows_of(body)
        names = [
            (column | row).get("from", "") for row in rows.values() for column in columns.values()
        ]
        for label, row in rows.items():
            sources = [column | row for column in columns.values()]
            values = [or_dash(lambda s=one: with_interval(s)) for one in sources]
            lines.append([markdown.plain(label), *values])
            paper = [published(one) for one in sources] if body.get("paper") else []
            if any(paper):
                lines.append(["*the paper*", *paper])
        text = markdown.table(["", *map(markdown.plain, columns)], lines)
        made = self.parse_text_to_nodes(text)
        if stored.not_measured(*names):
            made.append(missing(names))
        return made


class Chart(FromYaml):
    """Lines along a variable, or bars if `along` is not given; `metrics` (title: metric)."""

    def made(self, body: dict) -> list[nodes.Node]:
        name = body["from"]
        toml = stored.named(name)
        arms = body.get("arms", stored.arms(toml))
        for arm in arms:
            for metric in body["metrics"].values():
                stored.check({"from": name, "arm": arm, "metric": metric})
        if not stored.is_stored(name):
            return [missing([name])]
        svg = charts.svg(stored.read(name), body, arms)
        figure = nodes.figure()
        figure += inline(svg, body["says"])
        figure += nodes.caption("", f"{body['says']} ({name})")
        return [figure]


class Measured(SphinxDirective):
    """Its body is about results: shown only if all of these experiments' are stored."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        names = self.arguments[0].split()
        try:
            lacking = [name for name in names if not stored.is_stored(name)]
        except BadResult as error:
            raise self.error(f"{{measured}}: {error}") from None
        return [missing(lacking)] if lacking else self.parse_content_to_nodes()


def setup(app: Sphinx) -> None:
    app.add_role("result", ResultRole(), override=True)
    app.add_directive("results", Results)
    app.add_directive("chart", Chart)
    app.add_directive("measured", Measured)
