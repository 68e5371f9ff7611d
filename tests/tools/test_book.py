"""The book: everything has its entry, no figure is typed in, and it opens without a network.

The fixture `book` is the folder of the whole book, built once. `build_page` builds a book of one
page from a text, and returns the page's text. In pages, {result}`...` stands for a figure of a
stored result, and ```{results} and so on for a table; a test that needs other results replaces
stored.read_results. "A" is the title of most such pages, because the title does not matter.
"""

import json
import os
import re
import shutil
import subprocess
import tomllib
from functools import cache, partial
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import browser
import pytest
from browser import Page
from bs4 import BeautifulSoup
from trees import make

from book.ext import build, charts, clang, inventory, markdown, sessions, stored
from book.ext import make as command
from book.ext import sphinx as extension
from book.ext.build import BadBook
from book.ext.sphinx import comparison, findings, labs, navigation, places, words
from book.ext.sphinx import published as published_module
from sluice.experiment.catalogue import load_catalogue
from sluice.experiment.load import load
from sluice.experiment.result import BadResult
from sluice.host.experiments import experiment_files
from sluice.host.paths import ROOT
from sluice.results import documents, frontier, roles, store

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*MystReferenceResolver"),
    pytest.mark.xdist_group("book"),  # the book is built once for all tests
]
PAGES = sorted(build.PAGES.rglob("*.md"))
READABLE = 600  # of the 760 units of a drawing, so that its letters are 9 pixels high
LOADS = {"script": "src", "link": "href", "img": "src", "source": "src", "iframe": "src"}


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the whole book, built."""
    folder = tmp_path_factory.mktemp("book")
    build.build_site(folder / "site", folder / "work")
    return folder / "site"


@cache
def soup(path: Path) -> BeautifulSoup:
    """Return a page of a book that is built, which nothing changes."""
    return BeautifulSoup(path.read_text(), "html.parser")


class Elements(HTMLParser):
    """Collects the elements of a page: the name and the attributes of each, in order.

    Reading all pages so takes a third of the time of making their trees.
    """

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.found.append((tag, dict(attrs)))


@cache
def elements(path: Path) -> list[tuple[str, dict[str, str | None]]]:
    """Return the elements of a page of a book that is built, which nothing changes."""
    reader = Elements()
    reader.feed(path.read_text())
    reader.close()
    return reader.found


def codes(path: Path) -> set[str]:
    """Return what a page shows as code."""
    return {code.get_text() for code in soup(path).find_all("code")}


def build_page(folder: Path, text: str) -> str:
    """Return the text of a book of one page."""
    pages = folder / "pages"
    (pages / "_static").mkdir(parents=True, exist_ok=True)
    shutil.copy(build.PAGES / "_static" / "book.css", pages / "_static")
    (pages / "index.md").write_text(text)
    build.build_site(folder / "site", folder / "work", pages, dict)
    return soup(folder / "site" / "index.html").find("article").get_text()


# ---- the reference has all there is ----


def test_every_policy_has_its_entry(book: Path) -> None:
    for path in ROOT.glob("policies/*/*.c"):
        if "\nPOLICY(" in path.read_text():
            page = soup(book / "reference" / f"policies-{path.parent.name}.html")
            headings = [h.get_text().rstrip("¶") for h in page.find_all("h2")]
            assert path.stem in headings, path


def test_every_experiment_has_its_page_and_is_in_a_chapter_on_papers(book: Path) -> None:
    chapters = {one.name for one in findings.remaining_experiments()} | findings.shown_experiments()
    for path in experiment_files():
        assert (book / "reference" / "experiments" / f"{path.stem}.html").exists(), path
        assert path.stem in chapters


def test_every_command_of_make_has_its_entry(book: Path) -> None:
    listed = re.findall(r"^make (\S+)", make(ROOT, "SETUP=no", "help").stdout, re.M)
    assert "qemu" in listed
    assert {f"make {goal}" for goal in listed} <= codes(book / "reference" / "make.html")


def test_every_program_has_its_entry(book: Path) -> None:
    headings = codes(book / "reference" / "commands.html")
    for path in (ROOT / "build" / "root" / "bin").iterdir():
        assert path.name in headings, path


def test_every_tunable_is_there_as_the_kernel_has_it() -> None:
    """The book reads tunables from the sources in C. They are compared with those that the kernel
    itself printed (load_catalogue)."""
    kernel = load_catalogue().tunables
    read = {f"{p.name}.{t.name}": t for p in inventory.list_policies() for t in p.tunables}
    assert read.keys() == kernel.keys()
    for name, row in kernel.items():
        own = read[name]
        told = (own.unit, own.default, own.low, own.high, own.about)
        assert told == (row.unit, str(row.default), str(row.low), str(row.high), row.about), name


def test_every_policy_counter_and_histogram_is_there_as_the_kernel_has_it() -> None:
    """The book's lists are read from the sources; the catalogue is what a built kernel registers.
    A policy's counters are in the kernel by the policy's name and their own."""
    kernel = load_catalogue()
    for kind, names in kernel.policies.items():
        assert {p.name for p in inventory.list_policies() if p.kind == kind} == set(names)
    own = {f"{p.name}.{c.name}": c.unit for p in inventory.list_policies() for c in p.counters}
    kinds = ("counter", "gauge")
    common = [c for c in inventory.list_statistics() if c.everywhere]
    rows = {c.name: c.unit for c in common if c.kind in kinds}
    assert rows | own == kernel.counters
    histograms = {c.name for c in inventory.list_statistics() if "histogram" in c.kind}
    assert {re.sub(r"^disk\d\.", "", name) for name in kernel.histograms} == histograms


def test_every_drive_event_and_boot_argument_has_its_entry(book: Path) -> None:
    assert {*load_catalogue().drives, "none"} == {drive.name for drive in inventory.list_drives()}
    for name, rows in (
        ("drives", inventory.list_drives()),
        ("events", inventory.list_events()),
        ("arguments", inventory.list_arguments()),
    ):
        shown = {code.rstrip("=") for code in codes(book / "reference" / f"{name}.html")}
        assert len(rows) > 5
        assert {row.name for row in rows} <= shown


def test_a_boot_argument_that_nobody_described_is_named(monkeypatch, tmp_path: Path) -> None:
    """The entry of nbuf is cut out of the file of arguments."""
    short = tmp_path / "arguments.toml"
    text = inventory.ARGUMENTS.read_text()
    short.write_text(re.sub(r"\[nbuf\]\n(.+\n)+", "", text))
    monkeypatch.setattr(inventory, "ARGUMENTS", short)
    monkeypatch.setattr(inventory, "tree_path", str)
    with pytest.raises(inventory.BadSource, match=r"does not say what nbuf= means"):
        inventory.list_arguments()


def test_a_boot_argument_of_drives_is_used_or_says_why_it_is_there() -> None:
    """An argument that fewer than two experiments use has a reason in the file of arguments; one
    that more use has none."""
    described = tomllib.loads(inventory.ARGUMENTS.read_text())
    used = [tomllib.loads(path.read_text()) for path in experiment_files()]
    for name in [name for name in described if name.startswith("drive_")]:
        count = sum(
            name in one.get("machine", {})
            or any(name in arm.get("machine", {}) for arm in one.get("arms", []))
            for one in used
        )
        assert count > 1 or described[name].get("why"), name
        assert count < 2 or not described[name].get("why"), name


# ---- numbers come from the stored results ----


def test_no_page_has_a_table_of_figures_that_were_typed_in() -> None:
    typed = {path.name: documents.unmarked_tables(path) for path in PAGES}
    assert not {name: lines for name, lines in typed.items() if lines}


def test_a_table_that_a_test_is_said_to_check_is_read_by_that_test() -> None:
    """A page may have a table that no result fills, if it names a test (file::function) that checks
    the table. That function must have the page's path in its text."""
    said = [(path, test) for path in PAGES for test in documents.checked_tables(path)]
    assert said
    for path, test in said:
        file, _, name = test.partition("::")
        [path_of_test] = ROOT.glob(f"tests/*/{file}")
        text = path_of_test.read_text()
        function = re.search(rf"^def {name}\(.*?(?=^\S|\Z)", text, re.M | re.S)
        assert function, test
        assert path.relative_to(ROOT).as_posix() in function[0], test


def test_a_number_is_the_stored_one(tmp_path: Path) -> None:
    said = build_page(
        tmp_path, "# A\n\n{result}`from=mogul-4.1-fast, arm=delayed+PU, read.max_ms, digits=2`\n"
    )
    rows = stored.read_results("mogul-4.1-fast")["rows"]
    [value] = [r["measured"]["read.max_ms"] for r in rows if r["arm"] == "delayed+PU"]
    assert f"{value:,.2f}" in said


def test_a_number_has_its_interval(tmp_path: Path, monkeypatch) -> None:
    measured = {"measured": {"read.max_ms": 7.25}, "interval": {"read.max_ms": [6.5, 8]}}
    row = {"arm": "delayed+PU", "at": {}, "model": {"read.max_ms": 7}, **measured}
    monkeypatch.setattr(stored, "read_results", lambda name: {"rows": [row]})
    asked = "from=mogul-4.1-fast, arm=delayed+PU, read.max_ms, digits=1"
    table = "from: mogul-4.1-fast\nrows: {PU: arm=delayed+PU}\ncolumns: {most: read.max_ms}"
    text = f"{{result}}`{asked}` {{result}}`{asked}, is=model`\n\n```{{results}}\n{table}\n```\n"
    said = build_page(tmp_path, f"# A\n\n{text}")
    assert "7.250 (6.500 to 8)" in said
    assert "7.2 (6.5 to 8.0) 7.0" in said


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("from=mogul-9, arm=PU, read.max_ms", "there is no experiment mogul-9"),
        ("from=mogul-4.1-fast, arm=PU, read.max_ms", "mogul-4.1-fast has no arm PU"),
        ("from=mogul-4.1-fast, arm=delayed+PU, read.huge_ms", "has no metric read.huge_ms"),
        ("from=sweep-age, arm=PU, aeg_s=5, read.max_ms", "sweep-age has no variable aeg_s"),
    ],
)
def test_an_unknown_number_is_refused_by_name_and_place(
    tmp_path: Path, words: str, says: str
) -> None:
    with pytest.raises(BadBook) as wrong:
        build_page(tmp_path, f"# A\n\nfirst\n\n{{result}}`{words}`\n")
    assert says in str(wrong.value)
    assert "index.md:5" in str(wrong.value)


def test_tables_and_charts_refuse_what_is_unknown_too(tmp_path: Path) -> None:
    for i, body in enumerate(
        (
            "{results}\nfrom: mogul-9\ncolumns: {mean: read.mean_ms}",
            "{results}\nfrom: mogul-4.1-fast\ncolumns: {mean: read.huge_ms}",
            "{results}\nfrom: mogul-4.1-fast\ncolumns: {mean: read.mean_ms}\nrows: {PU: arm=PU}",
            "{chart}\nfrom: mogul-4.1-fast\narms: [PU]\nsays: x\nmetrics: {mean: read.mean_ms}",
            "{measured} mogul-9\nwords",
            "{findings} A Worse Update Policy",
        )
    ):
        with pytest.raises(BadBook, match=r"index\.md:3"):
            build_page(tmp_path / str(i), f"# A\n\n```{body}\n```\n")


def test_what_is_not_measured_yet_says_how_to_measure_it(tmp_path: Path, monkeypatch) -> None:
    """Where a result is not stored, the page has the command that stores it. Words that depend on
    the result are left out."""

    def nothing(name: str) -> dict:
        raise stored.NotStored(name)

    monkeypatch.setattr(stored, "read_results", nothing)
    words = "from=sweep-age, arm=PU, age_s=5, read.max_ms"
    said = build_page(tmp_path, f"# A\n\n{{result}}`{words}`\n\n```{{measured}} wow\nhidden\n```\n")
    assert "not measured yet: sluice results store sweep-age" in said
    assert "Not measured yet: sluice results store wow" in said
    assert "hidden" not in said


def test_an_arm_that_is_new_has_a_dot_until_it_is_measured(tmp_path: Path, monkeypatch) -> None:
    """The stored result has one arm. Another arm, which the experiment got since, has a dot in the
    table and a message in the text."""
    row = {"arm": "delayed+PU", "at": {}, "measured": {"read.max_ms": 7}}
    monkeypatch.setattr(stored, "read_results", lambda name: {"rows": [row]})
    rows = "{new: arm=async+PU, old: arm=delayed+PU}"
    table = f"from: mogul-4.1-fast\nrows: {rows}\ncolumns: {{most: read.max_ms}}"
    asked = "{result}`from=mogul-4.1-fast, arm=async+PU, read.max_ms`"
    build_page(tmp_path, f"# A\n\n{asked}\n\n```{{results}}\n{table}\n```\n")
    page = soup(tmp_path / "site" / "index.html").find("article")
    assert "not measured yet: sluice results store mogul-4.1-fast" in page.get_text()
    assert [cell.get_text() for cell in page.find_all("td")] == ["new", "·", "old", "7"]


def test_the_findings_of_all_stored_experiments_are_counted(tmp_path: Path, monkeypatch) -> None:
    """Two experiments are stored, each with one finding of a paper and two of our own. A row of the
    table has the source, the number of its findings, how many have each verdict, and for a paper
    how many are as it says."""

    def read(name: str) -> dict:
        """Return stored verdicts of two experiments; no other one is stored."""
        if name not in ("wow", "sweep-age"):
            raise stored.NotStored(name)
        verdict = {"paper": "Author 1999, 2: more", "word": "differs"}
        ours = {"paper": "", "word": "as said"}
        lost = {"paper": "", "word": "no difference seen", "contest": True}
        return {"verdicts": [verdict | {"contest": False}, ours | {"contest": False}, lost]}

    monkeypatch.setattr(stored, "read_results", read)
    said = build_page(tmp_path, "# A\n\n```{tally}\n```\n")
    cells = [cell.get_text() for cell in soup(tmp_path / "site" / "index.html").find_all("td")]
    assert cells[:8] == ["Author 1999", "1", "0", "0", "1", "0", "0", "0 of 2"]
    assert cells[8:] == ["(our own expectations)", "2", "2", "0", "0", "0"]
    assert "sluice results store mogul-4.1-fast" in said  # among those that lack findings


def test_a_comparison_follows_the_papers_order_and_counts_the_places(
    tmp_path: Path, monkeypatch
) -> None:
    """An experiment has four expectations, about the sections 4, 2 and 3 of a paper. Notes name the
    sections 4 and 5, which come first, in this order. An expectation that only checks arithmetic
    has no row. Of the two about section 4, one is as the paper says."""
    few = {"says": "few", "paper": "Author 1999, 4: up to 8 s", "differs": "another drive"}
    more = few | {"says": "more", "paper": "Author 1999: 9 s", "finding": few["paper"]}
    sums = few | {"says": "sums", "paper": "Author 1999, 3: 1 and 1", "check": "arithmetic"}
    late = few | {"says": "late", "paper": "Author 1999, 2: later"}
    toml = {"expectations": [few, more, sums, late]}
    one = inventory.Experiment("wow", Path(), "", toml)
    verdicts = [
        {"says": "few", "paper": few["paper"], "word": "as the paper", "why": "PU: 8 s (7 to 9)"},
        {"says": "more", "paper": more["paper"], "word": "differs", "why": "PU: 5 s"},
    ]
    monkeypatch.setattr(comparison, "list_experiments", lambda: [one])
    monkeypatch.setattr(stored, "is_stored", lambda name: True)
    monkeypatch.setattr(stored, "read_results", lambda name: {"verdicts": verdicts})
    rows = comparison.comparison_table("Author 1999", {"4": "figure 1", "5": "no network"})
    cells = [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows.splitlines()[2:]]
    link = "{doc}`/reference/experiments/wow`"
    where, asked = "**4**: figure 1", "up to 8 s (in 1 of 2 places)"
    assert cells == [
        [where, asked, link, "as the paper", "PU: 8 s (7 to 9)", ""],
        ["", "", link, "differs", "PU: 5 s", "another drive"],
        ["**5**: no network", "", "", "", "", ""],
        ["**2**", "later", link, "not measured yet", "late", ""],
    ]
    for paper, notes, why in (("Nobody", {}, "no expectation"), ("Author 1999", {"6": ""}, "note")):
        with pytest.raises(BadResult, match=why):
            comparison.comparison_table(paper, notes)


def test_the_cells_of_a_paper_stand_beside_ours_in_its_tables(monkeypatch) -> None:
    """A made-up paper has cells that are a value, a difference from another cell, a model's value,
    without a row of ours, and of another paper; each row of the table has the paper's value, ours,
    and the verdict."""

    def cell(arm: str, value: str, **more: object) -> dict:
        place = {"place": "Author 1999, table 1", "metric": "read.mean_ms"}
        return place | {"arm": arm, "value": value} | more

    few = {"says": "few", "paper": "Author 1999, table 1: 8 ms", "arm": "PU"}
    few |= {"metric": "read.mean_ms", "where": {"kb": [8, 16]}}
    rise = few | {"says": "rise", "than": "WT", "arm": "IPU"}
    model = few | {"says": "model", "than": "model"}
    published = [
        cell("PU", "8.0", where={"kb": 8}),
        cell("PU", "8.2", where={"kb": 8}, whose="model"),
        cell("IPU", "+50 %", than="PU", than_where={"kb": 8}),
        cell("IPU", "12", where={"kb": 16}),
        cell("WT", "5", where={"kb": 99}),
        cell("PU", "7", place="Other 2001, table 1"),
    ]
    toml = {"expectations": [few, rise, model], "published": published}
    one = inventory.Experiment("wow", Path(), "", toml)

    def row(arm: str, kb: int, value: float, **more: object) -> dict:
        figures = {"measured": {"read.mean_ms": value}, "interval": {}, "model": {}}
        return {"arm": arm, "at": {"kb": kb}} | figures | more

    ends = {"interval": {"read.mean_ms": [7, 9]}, "model": {"read.mean_ms": 8.5}}
    rows = [row("PU", 8, 8.25, **ends), row("PU", 16, 7), row("IPU", 16, 16.5)]
    words = [("few", "as the paper"), ("rise", "differs"), ("model", "differs")]
    verdicts = [{"says": s, "paper": few["paper"], "word": word} for s, word in words]
    monkeypatch.setattr(published_module, "list_experiments", lambda: [one])
    monkeypatch.setattr(stored, "is_stored", lambda name: True)
    kept = {"rows": rows, "verdicts": verdicts}
    monkeypatch.setattr(stored, "read_results", lambda name: kept)
    text = published_module.published_tables("Author 1999", {"table 1": "", "table 2": "no text"})
    assert text.endswith("**Table 2**: no text\n")
    lines = [line for line in text.splitlines() if line.startswith("| {doc}")]
    cells = [[cell.strip() for cell in line.split("|")[2:-1]] for line in lines]
    mean, more = "mean response of job read, ms", "IPU at kb 16, difference from PU at kb 8"
    assert cells == [
        ["PU at kb 8", mean, "8.0", "8.250 (7 to 9)", "as the paper", "8.2", "8.500"],
        [more, mean, "+50 %", "+100 % (16.50 against 8.250)", "differs (against WT)", "", ""],
        ["IPU at kb 16", mean, "12", "16.50", "differs (against WT)", "", ""],
        ["WT at kb 99", mean, "5", "·", "not asked", "", ""],
    ]
    for notes, why in (({"table 1": "", "table 3": ""}, "needs a note"), ({}, "is not listed")):
        with pytest.raises(BadResult, match=why):
            published_module.published_tables("Author 1999", notes)


def test_charts_show_intervals() -> None:
    """Bars, and lines along a variable: an interval makes another picture. A row without one has
    its value as both ends."""
    row = {"arm": "PU", "at": {"age": 5}, "measured": {"read.max_ms": 9}}
    body = {"metrics": {"longest": "read.max_ms"}}

    def draw(more: dict, kind: dict) -> str:
        return charts.render_svg({"experiment": "e", "rows": [row | more]}, body | kind, ["PU"])

    for kind in ({}, {"along": "age"}):
        assert draw({"interval": {"read.max_ms": [3, 12]}}, kind) != draw({}, kind)
    [found] = charts.chart_rows({"experiment": "e", "rows": [row]}, {}, ["PU"], "read.max_ms")
    assert (found["low"], found["high"]) == (9, 9)


def test_make_results_stores_what_pages_ask_for(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "{result}`from=wow, arm=LRW, a.b`\n"
        "```{results}\nfrom: wow\ncolumns:\n  head: c.d, digits=1\n```\n"
        "```{chart}\nfrom: sweep-age\nmetrics: {head: e.f}\n```\n"
    )
    asked = [(one["from"], one["metric"]) for one in roles.requested_sources(page)]
    assert asked == [("wow", "a.b"), ("wow", "c.d"), ("sweep-age", "e.f")]


# ---- pages ----


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{doc}`nowhere`", "nowhere"),
        ("[words](nowhere.md)", "nowhere.md"),
        ("{file}`kernel/nowhere.c`", "the tree has no kernel/nowhere.c"),
        ("{c}`nowhere`", "no C file defines a function nowhere"),
        ("```{drawing} nowhere.svg\n```", "there is no drawing nowhere.svg"),
        ("```{frontier} nowhere\nWords.\n```", "has no load nowhere; it has steady, hot, mail"),
        ("```{typed}\ncat /nowhere\n```", "`cat /nowhere` failed"),
        ("```{hints} nowhere\n```", "nowhere/hints.md: No such file"),
    ],
)
def test_what_leads_nowhere_fails_the_build(
    tmp_path: Path, monkeypatch, text: str, says: str
) -> None:
    monkeypatch.setattr(sessions, "PAGES", tmp_path / "pages")
    with pytest.raises(BadBook) as wrong:
        build_page(tmp_path, f"# A\n\n{text}\n")
    assert says in str(wrong.value)
    assert "index.md" in str(wrong.value)


def test_a_frontier_is_drawn_from_the_stored_results(tmp_path: Path) -> None:
    build_page(tmp_path, "# A\n\n```{frontier} mail\nWhat *mail* loses.\n```\n")
    drawn = soup(tmp_path / "site" / "index.html").select_one(".drawing svg")
    assert (drawn["aria-label"], drawn["role"]) == ("What mail loses.", "img")
    kept = store.read_stored(frontier.EXPERIMENT)
    words = BeautifulSoup(frontier.draw_frontier(kept, "mail"), "html.parser").find_all("text")
    assert [one.get_text() for one in drawn.find_all("text")] == [one.get_text() for one in words]


def test_hints_open_one_by_one_and_show_code(tmp_path: Path) -> None:
    build_page(tmp_path, "# A\n\n```{hints} elevator\n```\n")
    page = soup(tmp_path / "site" / "index.html")
    assert [one.summary.get_text()[:2] for one in page.find_all("details")][:3] == [
        "1.",
        "2.",
        "3.",
    ]
    assert "q->head_sector" in [code.get_text() for code in page.find("details").find_all("code")]


def test_a_tree_with_another_lab_says_so_in_the_place_of_hints(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "labs" / "mine").mkdir(parents=True)
    (tmp_path / "labs" / "mine" / "reference.elf").touch()
    monkeypatch.setattr(labs, "LABS", tmp_path / "labs")
    said = build_page(tmp_path, "# A\n\n```{hints} elevator\n```\n")
    assert "your tree has another lab" in said


def test_a_build_that_fails_leaves_the_book_that_there_was(tmp_path: Path) -> None:
    """A link to a page that does not exist makes the build fail."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("before")
    with pytest.raises(BadBook):
        build_page(tmp_path, "# A\n\n{doc}`nowhere`\n")
    assert (tmp_path / "site" / "index.html").read_text() == "before"


NESTED = {
    "index": "# Top\n\n```{toctree}\n:hidden:\n:caption: One\n\na/index\nb\n```\n"
    "```{toctree}\n:caption: Two\n:hidden:\n\nc/x\n```\n",
    "a/index": "# A & B\n\n```{toctree}\none\ntwo/index\n```\n## A part\n",
    "a/one": "# One\n",
    "a/two/index": "# Two\n\n```{toctree}\nthree\n```\n",
    "a/two/three": '# Three "quoted"\n',
    "b": "# B\n",
    "c/x": "# X\n",
}


def build_nested(folder: Path) -> dict[str, str]:
    """Build a book of four folders in a folder. Returns its pages by their paths."""
    for name, text in NESTED.items():
        path = folder / "pages" / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "pages/_static").mkdir()
    shutil.copy(build.PAGES / "_static" / "book.css", folder / "pages/_static")
    build.build_site(folder / "site", folder / "work", folder / "pages", dict)
    found = (folder / "site").rglob("*.html")
    return {str(path.relative_to(folder)): path.read_text() for path in found}


def test_the_tree_beside_each_page_is_the_one_that_furo_makes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The book makes the tree of pages itself, because that is faster than in the theme Furo. The
    same book is built in both ways. Each page but the index is marked in its own tree."""
    made = build_nested(tmp_path / "ours")
    parts = [part for part in extension.PARTS if part is not navigation]
    monkeypatch.setattr(extension, "PARTS", parts)
    assert made == build_nested(tmp_path / "theirs")
    in_tree = NESTED.keys() - {"index"}
    assert sum("current-page" in text for text in made.values()) == len(in_tree)


def test_two_builds_at_once_both_end_well(tmp_path: Path, monkeypatch) -> None:
    """Each build works in a folder of its own, so the site is that of one of them, and whole."""
    pages, site = tmp_path / "pages", tmp_path / "site"
    (pages / "_static").mkdir(parents=True)
    (pages / "index.md").write_text("# A\n\nof one build\n")
    shutil.copy(build.PAGES / "_static" / "book.css", pages / "_static")
    monkeypatch.setattr(build, "WORK", tmp_path / "builds")
    inner, one = build.replace_site, partial(build.build_site, site, written=pages, made=dict)

    def another_first(made: Path, place: Path) -> None:
        """Make another build, from its beginning to its end, when one is about to end."""
        monkeypatch.setattr(build, "replace_site", inner)
        build.build_in_own_folder(one)
        inner(made, place)

    monkeypatch.setattr(build, "replace_site", another_first)
    build.build_in_own_folder(one)
    assert "of one build" in (site / "index.html").read_text()
    assert list((tmp_path / "builds").iterdir()) == []
    assert {path.name for path in tmp_path.iterdir()} == {"pages", "site", "builds"}


def words_of(page: Path) -> str:
    """Return the part of a page in which words may lead to the glossary: the article without
    titles, code and other links."""
    article = BeautifulSoup(page.read_text(), "html.parser").find("article")
    for other in article.select("h1, h2, h3, h4, h5, h6, code, pre, svg, .rubric"):
        other.decompose()
    for link in article.find_all("a"):
        if not link.select_one(".word"):
            link.decompose()
    return article


def test_each_page_leads_to_the_glossary_where_it_first_uses_a_word(book: Path) -> None:
    """On each page the first use of a term is a link, and each term is linked on some page."""
    known = words.word_forms((build.PAGES / "glossary.md").read_text())
    pattern, linked = words.form_pattern(known), set()
    for path in sorted(build.PAGES.rglob("*.md")):
        page = book / path.relative_to(build.PAGES).with_suffix(".html")
        if path.stem == words.PAGE or not page.exists():
            continue
        article, seen = words_of(page), set()
        for text in article.find_all(string=pattern):
            for match in pattern.finditer(text):
                term = known[" ".join(match[0].split())]
                link = text.find_parent("a")
                if term not in seen:
                    assert link and "glossary.html#term-" in link["href"], (page, match[0])
                    linked.add(term)
                seen.add(term)
    assert linked == set(known.values())


def test_a_word_is_linked_once_and_in_no_title_link_or_code(tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    entry = "arm\narms\n  A set.\n\ntold apart\n  They differ.\n"
    (pages / "glossary.md").write_text(f"# Words\n\n:::{{glossary}}\n{entry}:::\n")
    text = "# An arm\n\n`arm=`, no-arm, [an arm](glossary.md): two arms, told\napart; an arm.\n"
    build_page(tmp_path, f"{text}\n```{{toctree}}\nglossary\n```\n")
    article = soup(tmp_path / "site" / "index.html").find("article")
    links = [(a.get_text().split(), a["href"]) for a in article.select("a:has(.word)")]
    assert links == [
        (["arms"], "glossary.html#term-arm"),
        (["told", "apart"], "glossary.html#term-told-apart"),
    ]


def test_drawings_take_the_colours_of_the_page() -> None:
    drawings = sorted(build.PAGES.rglob("*.svg"))
    assert len(drawings) > 3
    for path in drawings:
        root = ElementTree.parse(path).getroot()
        assert "currentColor" in path.read_text(), path
        colours = {
            v for one in root.iter() for k, v in one.attrib.items() if k in ("fill", "stroke")
        }
        assert not colours & {"black", "white", "#000", "#fff", "#000000", "#ffffff"}, path


def test_a_drawing_can_be_read_on_a_phone_and_its_label_has_no_marks(tmp_path: Path) -> None:
    """The drawing scrolls by itself; the page does not."""
    build_page(tmp_path, "# A\n\n```{drawing} drawings/platter.svg\nThe *parts*.\n```\n")
    index = tmp_path / "site" / "index.html"
    assert soup(index).select_one(".drawing svg")["aria-label"] == "The parts."
    with browser.Page(tmp_path / "browser") as page:
        screen = {"width": 400, "height": 900, "deviceScaleFactor": 1, "mobile": True}
        page.do("Emulation.setDeviceMetricsOverride", **screen)
        page.do("Page.navigate", url=index.as_uri())
        loaded = "new Promise(r => document.readyState == 'complete' ? r() : (onload = () => r()))"
        page.value(loaded)
        width = "document.querySelector('.drawing svg').getBoundingClientRect().width"
        assert page.value(width) >= READABLE
        assert page.value("document.documentElement.scrollWidth") == screen["width"]


def test_a_published_book_links_to_where_the_sources_are(monkeypatch: pytest.MonkeyPatch) -> None:
    file = places.ROOT / "kernel/cache/bio.c"
    assert places.relative_link("inside/read", file) == "../../../kernel/cache/bio.c"
    monkeypatch.setenv("BOOK_SOURCES", "https://example.org/blob/main")
    assert (
        places.relative_link("inside/read", file)
        == "https://example.org/blob/main/kernel/cache/bio.c"
    )


def test_in_a_students_tree_a_file_of_another_lab_is_named_and_any_other_must_exist(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A student's tree has one lab, which has a file reference.elf. A link to a file of another lab
    becomes plain text there. A link to any other file that is missing is an error."""
    monkeypatch.setattr(places, "ROOT", tmp_path)
    monkeypatch.setattr(labs, "LABS", tmp_path / "grade/labs")
    reference = tmp_path / "grade/labs/smooth/reference.elf"
    reference.parent.mkdir(parents=True)
    reference.touch()
    role = places.FileRole()

    def led(to: str) -> Path | None:
        """Return the path to which a link leads; None if it becomes plain text."""
        role.text = to
        return role.find()[1]

    assert led("grade/labs/smooth") == reference.parent
    assert led("grade/labs/open/lab.toml") is None
    for missing in ("grade/labs/smooth/nonesuch", "grade/nonesuch"):
        with pytest.raises(LookupError, match="the tree has no"):
            led(missing)
    reference.unlink()  # no student's tree
    with pytest.raises(LookupError, match="the tree has no grade/labs/open"):
        led("grade/labs/open")


# ---- the site ----


def test_on_a_narrow_page_the_words_of_drawings_can_be_read(book: Path, tmp_path: Path) -> None:
    sizes = "[...document.querySelectorAll('.drawing svg')].map(svg => svg.getScreenCTM().a)"
    with Page(tmp_path) as page:
        for name in ("index.html", "questions/when.html"):
            page.visit(book / name, width=400)
            drawn = page.value(sizes)
            # Drawings keep at least 0.9 of the size that they have on a wide page.
            assert drawn and min(drawn) > 0.9, name
            assert page.value("document.documentElement.scrollWidth") <= 400, name


def test_no_page_needs_the_network(book: Path) -> None:
    pages = list(book.rglob("*.html"))
    assert len(pages) > 60
    assert {name for path in pages for name, _ in elements(path)} >= {"script", "link", "img"}
    for path in pages:
        for name, attributes in elements(path):
            loaded = attributes.get(LOADS.get(name, "")) or ""
            assert not re.match(r"(https?:)?//", loaded), (path, name, attributes)
    for path in book.rglob("*.css"):
        assert not re.search(r"@import|url\(['\"]?(https?:)?//", path.read_text()), path


def test_every_link_between_pages_and_into_the_tree_leads_somewhere(book: Path) -> None:
    """Links into the tree are relative to build/book/, which need not be there."""
    place = ROOT / "build" / "book"
    followed = 0
    for path in book.rglob("*.html"):
        page = place / path.relative_to(book)
        for name, attributes in elements(path):
            link = (attributes.get("href") or "") if name == "a" else ""
            target = link.partition("#")[0]
            if target and not re.match(r"\w+:", target):
                real = (page.parent / target).resolve()
                within = place in real.parents
                inside = book / real.relative_to(place) if within else real
                assert inside.exists(), f"{path.relative_to(book)}: {link}"
                followed += 1
    assert followed > 1000


def test_the_search_works_without_a_server(book: Path) -> None:
    """The search's index is a script, which a page from a file may load, not data that it would
    fetch."""
    scripts = [script.get("src") for script in soup(book / "search.html").find_all("script")]
    assert "searchindex.js" in scripts
    text = (book / "searchindex.js").read_text()
    index = json.loads(re.fullmatch(r"Search\.setIndex\((.*)\)", text, re.S)[1])
    assert any("rotat" in term for term in index["terms"])
    options = (book / "_static" / "documentation_options.js").read_text()
    assert re.search(r"SHOW_SEARCH_SUMMARY: false", options)


# ---- examples that pages show ----


def examples(page: str, language: str) -> list[str]:
    """Return the blocks of code of a page that are in a language."""
    text = (build.PAGES / page).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.M | re.S)


@pytest.mark.parametrize("page", ["adding/policy.md", "adding/program.md"])
def test_examples_in_c_compile_as_they_are_printed(page: str) -> None:
    prefix = os.environ.get("TOOLPREFIX", "riscv64-unknown-elf-")
    line = [f"{prefix}gcc", "-std=gnu11", "-ffreestanding", "-fsyntax-only", "-Wall", "-Wextra"]
    line += ["-Werror", "-Wno-missing-field-initializers", "-I", ROOT, "-x", "c", "-"]
    [code] = examples(page, "c")
    done = subprocess.run(line, input=code, capture_output=True, text=True, cwd=ROOT)
    assert not done.stderr


def test_the_example_of_an_experiment_is_one(tmp_path: Path) -> None:
    [toml] = examples("adding/experiment.md", "toml")
    (tmp_path / "example.toml").write_text(toml)
    experiment = load(tmp_path / "example.toml", "full")
    assert experiment.arms == ["FCFS", "C-LOOK"]
    assert len(experiment.runs) == 10


# ---- reading C, writing Markdown ----


def test_tables_in_c_are_read_as_the_compiler_does() -> None:
    """Neighbouring string literals are one cell; the row {0} that ends the table is left out."""
    code = """
    static struct tunable tunables[] = {
        [AGE] = {"age_ms", "ms", 30 * 1000, 0, 1UL << 20,
                 "how old, \\"dirty\\" "
                 "or {not}"},
        {0},
    };
    """
    [row] = clang.table_rows(code, 0)
    assert row == ["age_ms", "ms", "30 * 1000", "0", "1UL << 20", 'how old, "dirty" or {not}']
    numbers = [clang.evaluate(cell, {}) for cell in row[2:5]]
    assert numbers == [30000, 0, 1 << 20]
    assert clang.evaluate("2 * MOST", {"MOST": "(1 << 3)"}) == 16
    assert clang.evaluate("sizeof(x)", {}) is None


def test_text_shows_as_it_is_written() -> None:
    assert markdown.escape("a*b of age_ms, <x> and `c|d`") == r"a\*b of `age_ms`, \<x\> and `c|d`"
    assert markdown.format_table(["a"], [["`x | y`"]]).splitlines()[2] == r"| `x \| y` |"


def test_comments_keep_their_lists_and_formulas() -> None:
    comment = "It does:\n- one thing,\n  and more\n- another\n\n    a = b\n    c = d\n\nThe end."
    assert markdown.format_comment(comment) == (
        "It does:\n\n- one thing, and more\n\n- another\n\n"
        "```text\n  a = b\n  c = d\n```\n\nThe end.\n"
    )


@pytest.mark.parametrize(
    # The exit status of each experiment that fails; those that are tried; whether the book is
    # built; and the message. Status 1 is an expectation that failed.
    ("statuses", "measured", "built_", "says"),
    [
        ({}, "a b c", True, ""),
        ({"a": 1}, "a b c", True, "an expectation failed in a"),
        ({"b": 2}, "a b", False, "b could not be measured: see above"),
        ({"b": -9}, "a b", False, "b could not be measured: signal 9 ended it"),
    ],
)
def test_a_full_book_measures_all_and_stops_only_where_it_must(
    statuses: dict[str, int], measured: str, built_: bool, says: str, monkeypatch, capsys
) -> None:
    """There are three experiments, a, b and c; a row says with which status each one's command
    ends, which were measured then, whether the book was built, and what was said."""
    made, builds = [], []

    def run(line: list[str]) -> SimpleNamespace:
        """Note an experiment's name, and end as its command would."""
        name = json.loads(line[-1])["name"]
        made.append(name)
        return SimpleNamespace(returncode=statuses.get(name, 0))

    monkeypatch.setattr(
        inventory, "list_experiments", lambda: [SimpleNamespace(name=name) for name in "abc"]
    )
    monkeypatch.setattr(command.subprocess, "run", run)
    monkeypatch.setattr(build, "build_in_own_folder", lambda: builds.append("book"))
    status = command.make_book(full=True, jobs=1)
    assert (made, bool(builds)) == (measured.split(), built_)
    # The worst status; a command that a signal n has killed (status -n) counts as 128 + n.
    assert status == max((n if n >= 0 else 128 - n for n in statuses.values()), default=0)
    assert says in capsys.readouterr().err
