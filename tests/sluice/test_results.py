"""Figures in documents are those of the stored results.

results/ has for each experiment a file in a compact form: rows (an arm in a setting, with what was
measured), verdicts on expectations, and samples, which are hashes of some runs. A document quotes
figures by comments: `results:` before a table, and `figures:` for figures in a sentence
(sluice/results/documents.py). In the tests, TEXT is such a document, and STORED the results of its
one experiment, `e`.
"""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import shipped

from sluice.experiment import findings, runner
from sluice.experiment.catalogue import kernel_hash
from sluice.experiment.load import load
from sluice.experiment.result import BadResult
from sluice.experiment.rows import parse_experiment
from sluice.experiment.runner import Outcome
from sluice.experiment.schema import Experiment, Run
from sluice.experiment.selection import experiment_file, has_charged_time
from sluice.experiment.series import bucket_high
from sluice.experiment.verdict import DIFFERS
from sluice.host.experiments import experiment_files
from sluice.host.paths import ROOT
from sluice.report.session import Request
from sluice.results import compact, documents, frontpage, recheck, store, update
from sluice.results.documents import Figure

read = cache(store.read_stored)  # the stored results of an experiment, by its name
ALL = [figure for path in documents.result_documents() for figure in documents.marked_figures(path)]

STORED = {
    "rows": [
        {"arm": "PU", "at": {"age": 5}, "measured": {"read.max_ms": 8004.96}, "model": {}},
        {"arm": "PU", "at": {"age": 30}, "measured": {"read.max_ms": 12.34}, "model": {}},
        {"arm": "IPU", "at": {"age": 5}, "measured": {"read.max_ms": 55}, "model": {}},
    ]
}
TEXT = """
Reads wait for
8,005 ms at most.

<!-- results: from=e; age=5, read.max_ms; age=30,
    read.max_ms -->
| | five | thirty |
|---|---|---|
| PU | 8,005 | 12.3 |
| interval <!-- arm=IPU --> | 55.0 | |
| *paper* | *8,000* | |
| | **words** | |

<!-- figures:
wait for {value} ms at: from=e, arm=PU, age=5, read.max_ms
-->
"""


def document(folder: Path, text: str = TEXT) -> Path:
    """Write a document and return its path."""
    path = folder / "README.md"
    path.write_text(text)
    return path


def stored(name: str) -> dict:
    """Return STORED, the only results that there are."""
    assert name == "e"
    return STORED


def wrong_figures(path: Path) -> list[tuple[int, str]]:
    """Return line and text of the figures that are not what is stored."""
    found = documents.marked_figures(path)
    return [(f.line, f.printed) for f in found if documents.current_text(f, stored) != f.printed]


@pytest.mark.parametrize("name", sorted({one.source["from"] for one in ALL}))
def test_documents_say_what_was_measured_last(name: str) -> None:
    """Each figure of all documents is, as it is printed, the stored one."""

    def stale(figure: Figure) -> str:
        new = documents.current_text(figure, read)
        return "" if new == figure.printed else f"{figure.place}: {figure.printed} is {new}"

    said = [stale(figure) for figure in ALL if figure.source.get("from") == name]
    assert said
    assert not list(filter(None, said)), f"run sluice results tables {name}"


@pytest.mark.parametrize("path", sorted(ROOT.glob("*.md")), ids=lambda path: path.name)
def test_every_table_of_figures_says_where_they_are_from(path: Path) -> None:
    """A table with figures has a comment that names its source."""
    lines = [f"{path.name}:{line}" for line in documents.unmarked_tables(path)]
    assert not lines, "put a comment before the table, as sluice/results/documents.py says"


@pytest.mark.parametrize("path", documents.result_documents(), ids=lambda path: path.stem)
def test_a_measured_figure_in_text_stands_with_its_interval(path: Path) -> None:
    """The two ends of the interval are quoted in the same paragraph."""
    lacking = [
        f"{figure.place}: {figure.printed}" for figure in documents.figures_without_interval(path)
    ]
    assert not lacking, "quote it as is=low and is=high, as sluice/results/documents.py says"


@pytest.mark.xdist_group(shipped.GROUP)
def test_readme_says_how_many_experiments_count_instructions() -> None:
    """The README spells the number, from eight to twelve."""
    loaded = [shipped.load_once(path) for path in experiment_files()]
    counted = [one.name for one in loaded if not has_charged_time(one)]
    numbers = ("eight", "nine", "ten", "eleven", "twelve")
    said = f"({numbers[len(counted) - 8]} experiments count\ninstructions)"
    assert said in (ROOT / "README.md").read_text(encoding="utf-8"), counted


def test_a_figure_in_text_without_its_interval_is_found(tmp_path: Path) -> None:
    """A mean needs both ends of its interval in its own paragraph; one end alone is not enough. A
    model's figure has no interval."""

    def lacking(text: str, *lines: str) -> list[str]:
        """Return the figures of a page that have no interval. lines: the marks that name their
        sources."""
        marks = "".join(f"{line}: from=e, arm=PU, age=5, read.max_ms\n" for line in lines)
        path = document(tmp_path, f"{text}\n\n<!-- figures:\n{marks}-->\n")
        return [figure.printed for figure in documents.figures_without_interval(path)]

    ends, mean = "{low} to {high} ms", "; {value} in the mean"
    assert lacking("; 8 in the mean", mean) == ["8"]
    assert lacking("7 ms", "{low} ms") == ["7"]
    assert lacking("7 to 9 ms; 8 in the mean", ends, mean) == []
    assert lacking("7 to 9 ms\n\n; 8 in the mean", ends, mean) == ["8"]
    assert lacking("8 ms", "{model} ms") == []


def test_the_ends_of_an_interval_are_figures(tmp_path: Path) -> None:
    """{low} and {high} in a source mean the ends of the stored interval, rounded as printed."""
    [row, *_] = STORED["rows"]
    kept = {"rows": [row | {"interval": {"read.max_ms": [7, 9.4]}}]}
    text = "at most 9\n\n<!-- figures:\nmost {high}: from=e, arm=PU, age=5, read.max_ms\n-->\n"
    [figure] = documents.marked_figures(document(tmp_path, text))
    assert documents.current_text(figure, lambda _: kept) == "9"
    with pytest.raises(BadResult, match=r"no interval read\.max_ms stored"):
        documents.current_text(figure, stored)


def test_figures_are_compared_as_precisely_as_they_are_printed(tmp_path: Path) -> None:
    """8,005 is right for 8004.96, and 12.34 for 12.34. 8,004 and 12.4 are wrong; each is named with
    its line."""
    path = document(tmp_path)
    assert [f.printed for f in documents.marked_figures(path)] == ["8,005", "8,005", "12.3", "55.0"]
    assert wrong_figures(path) == []
    path.write_text(TEXT.replace("8,005 ms", "8,004 ms").replace("12.3", "12.34"))
    assert wrong_figures(path) == [(3, "8,004")]
    path.write_text(TEXT.replace("12.3", "12.4").replace("55.0", "55.1"))
    assert wrong_figures(path) == [(9, "12.4"), (10, "55.1")]


def test_figures_are_put_in_as_precisely_as_they_were_printed(tmp_path: Path) -> None:
    """Three wrong figures are replaced, and only those of the experiments that are named."""
    old = TEXT.replace("8,005 ms", "9 ms").replace("12.3", "1.0").replace("55.0", "1,234.0")
    path = document(tmp_path, old)
    text, said = documents.update_figures(path, stored, {"e"})
    assert said[0] == "README.md:3: 9 is now 8,005"
    assert len(said) == 3
    assert text == TEXT
    assert documents.update_figures(path, stored, {"other"}) == (old, [])


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("12.3", "12.3 s", '"12.3 s" is neither a figure nor in italics'),
        ("12.3 |", "12.3 | 1 |", "3 columns, but 2 sources"),
        ("arm=IPU", "arm=HAC", "e has 0 rows of arm=HAC"),
        ("from=e; age=5,", "from=e;", "e has 2 rows of arm=PU"),
        ("read.max_ms -->\n|", "read.min_ms -->\n|", "no measured read.min_ms stored"),
        ("read.max_ms -->\n|", "is=model, read.max_ms -->\n|", "no model read.max_ms stored"),
        ("from=e;", "here;", "lacks from=EXPERIMENT"),
        ("-->\n| | five", "-->\n\n| | five", "there is no table here"),
        ("figures:\n", "figures: \n", "there is no table here"),
        ("8,005 ms at most", "8,005 ms or less", "stands 0 times in the text, not once"),
        (
            "ms at most.",
            "ms at most. Who\nwait for 3 ms at",
            "stands 2 times in the text, not once",
        ),
        ("8,005 ms at most", "about8,005 ms at most", "stands 0 times"),
        ("{value}", "{mean}", "needs one or more of"),
        ("{value}", "8,005", "needs one or more of"),
        ("for {value} ms at", "for {value} ms at {value}", "each once"),
    ],
)
def test_a_source_that_names_nothing_is_told_with_its_place(
    tmp_path: Path, old: str, new: str, why: str
) -> None:
    """`old` in TEXT is replaced by `new`."""
    assert old in TEXT
    path = document(tmp_path, TEXT.replace(old, new))
    with pytest.raises(BadResult, match=rf"README.md:\d+: .*{why}"):
        wrong_figures(path)
    with pytest.raises(BadResult):
        documents.update_figures(path, stored, {"e", None})


def test_a_quoted_arm_may_have_commas_in_its_name() -> None:
    assert documents.parse_source('from=e, arm="VLD, old, new", read.max_ms, mb=2') == {
        **{"from": "e", "arm": "VLD, old, new", "metric": "read.max_ms", "mb": "2"}
    }


def test_a_table_of_figures_without_a_source_is_found(tmp_path: Path) -> None:
    """Tables with a source, tables without figures, and tables in a code block are not reported."""
    table = "| | a | b |\n|---|---|---|\n| x | 1.2 s | 3 |\n"
    path = document(tmp_path, f"words\n\n{table}")
    assert documents.unmarked_tables(path) == [3]
    path.write_text(f"<!-- host: make bench -->\n{table}")
    assert documents.unmarked_tables(path) == []
    path.write_text(table.replace("1.2", "about 1").replace("3", "three"))
    assert documents.unmarked_tables(path) == []
    path.write_text(f"````markdown\n{table}```\n````\n\n{table}")
    assert documents.unmarked_tables(path) == [8]


def test_stored_results_stay_small() -> None:
    """Pictures do not count here."""
    texts = [
        path.read_text() for path in store.FOLDER.rglob("*") if path.suffix in (".json", ".md")
    ]
    assert sum(text.count("\n") for text in texts) <= 3_000
    assert sum(len(text.encode()) for text in texts) <= 300 * 1024


# An expectation, its verdicts' usual fields, and reasons as the judge words them. In the compact
# form, `@` stands for the other arm's name and `=` for the metric's value.
EXPECTED = {"says": "less", "paper": "A 1999: less", "arm": "PU", "metric": "m", "than": "WT"}
JUDGED = {"word": "as the paper", "paper": EXPECTED["paper"], "contest": False}
WHYS = [
    "PU: m is 5 ms (the mean of 6 runs, 95 %: 4 to 6); expected less than 7 ms (WT's); "
    "difference -2 (95 %: -3 to -1)",
    "PU: m at mix 5 is 3 (the worst of 4); expected at most 1",
    "PU: m is 9 ms (the largest of 2 runs, 8 to 9); expected 9 ms",
    "PU: m is 9 ms (the mean of 2 runs, 95 %: 8 to 9.1); expected 9 ms",
    "@ and = and ..; = are not of the table",
    "",
]
MIXES = ("few", "many")
LOST = {"word": "LOST", "why": "PU 5", "paper": "", "contest": True}
MATCH = {"metric": "m", "won": False, "best": "WT", "behind": 0.25, "against": "50 % WT"}
COMPACT = {
    **{"experiment": "e", "commit": "c", "kernel": "k", "same": "s"},
    "rows": [
        {"arm": arm, "at": {"age": 5, "mix": mix}, "trials": 2, "measured": {"m": 1.5, "n / m": 2}}
        | {"interval": interval, "model": model, "published": {}}
        for arm, mix, interval, model in (
            ("PU", "few", {"m": [1, 2]}, {"m": 3}),
            ("PU", "many", {}, {}),
            ("WT", "few", {}, {}),
        )
    ],
    "verdicts": [
        *(JUDGED | {"says": EXPECTED["says"], "why": why} for why in WHYS),
        JUDGED | {"says": "of no file", "why": WHYS[0], "word": "not judged"},
        *(LOST | {"says": f"PU has no more m than WT at age 5, mix {mix}"} for mix in MIXES),
        LOST | {"says": "PU has no more m than 50 % WT at age 6, mix few"},
    ],
    "contest": [
        MATCH | {"at": {"age": age, "mix": mix}, "behind_ends": [0.2, 0.3]}
        for age, mix in ((5, "few"), (5, "many"), (6, "few"))
    ],
    "samples": [
        {"arm": arm, "variables": {"age": 5, "seed": 1}, "mark": "0f"} for arm in ("PU", "WT")
    ],
}


def test_the_compact_form_gives_back_all_that_is_stored() -> None:
    """Decoding gives COMPACT back. The text has the short forms of its reasons."""
    text = compact.encode(COMPACT, [EXPECTED])
    assert compact.decode(text, [EXPECTED]) == COMPACT
    assert '"=5 ms (mean/6~4..6); < 7 ms (@); d -2 (~-3..-1)"' in text
    assert '"=9 ms (max 8..9); = 9 ms"' in text
    assert '"=9 ms (mean 8..9.1); = 9 ms"' in text, "all have 2 trials"
    assert '["* PU has no more # than WT%","LOST","PU 5"],\n["*","LOST","PU 5"],' in text
    assert '["* !PU has no more m than 50 % WT at age 6, mix few",' in text, "% is in the name"
    one, *_ = compact.decode(text, [EXPECTED | {"metric": "n"}])["verdicts"]
    assert one["says"].startswith("(no longer expected: "), "a changed expectation was not judged"


def test_samples_are_of_the_arms_of_the_rows() -> None:
    """Samples are stored in the order of the rows' arms, without their names."""
    text = compact.encode(COMPACT, [EXPECTED])
    assert '"samples":[[5,1,"0f"],[5,1,"0f"]]' in text
    with pytest.raises(BadResult, match="e: its samples are not of the arms of its rows"):
        compact.encode(COMPACT | {"samples": COMPACT["samples"][::-1]}, [EXPECTED])
    with pytest.raises(BadResult, match="e: stored in an older form: sluice results store e"):
        compact.decode(text.replace('[[5,1,"0f"],[5,1,"0f"]]', '{"PU":[5,1,"0f"]}'), [EXPECTED])


def test_rows_of_other_variables_are_no_table() -> None:
    """All rows of an experiment have the same variables."""
    rows = [COMPACT["rows"][0], COMPACT["rows"][1] | {"at": {"age": 5}}]
    with pytest.raises(BadResult, match="e: its rows have other variables"):
        compact.encode(COMPACT | {"rows": rows}, [])


def test_digits_are_cut_unless_another_figure_would_be_printed_or_an_interval_would_be_a_point():
    """cut_digits(values, digits) keeps more digits where that is needed."""
    assert store.cut_digits([26.99812345], 4) == [26.998], "not 27, which is printed as 27"
    assert store.cut_digits([44.5312345, 44.5312346], 4) == [44.531234, 44.531235], (
        "no interval of 0"
    )
    assert store.cut_digits([8101.97921], 6) == [8101.98]


def test_figures_that_documents_quote_or_pictures_show_are_stored_with_more_digits() -> None:
    """Of this row (arm PU, age 5) the metric m is quoted, o is drawn, and the model's n is quoted.
    The other quotations are of another arm or age."""
    figures = {"m": 1.23456789, "n": 1.23456789, "o": 1.23456789}
    row = {"arm": "PU", "at": {"age": 5}, "trials": 2, "measured": figures, "published": {}}
    row |= {"interval": {name: [1.2345678, 1.3] for name in figures}, "model": figures}
    quoted = [
        {"from": "e", "arm": "PU", "age": "5", "metric": "m"},
        {"from": "e", "arm": "WT", "metric": "n"},
        {"from": "e", "age": "6", "metric": "n"},
        {"from": "e", "is": "drawn", "metric": "o"},
        {"from": "e", "is": "model", "metric": "n"},
    ]
    kept = store.pare_row(row, quoted)
    assert kept["measured"] == {"m": 1.2346, "n": 1.235, "o": 1.2346}
    assert kept["interval"] == {"m": [1.2346, 1.3], "o": [1.2346, 1.3]}
    assert kept["model"] == {"n": 1.23456789}


@pytest.mark.parametrize("path", experiment_files(), ids=lambda path: path.stem)
def test_what_is_stored_as_differing_has_its_cause_in_the_file(path: Path) -> None:
    """A stored verdict "differs" needs the key `differs` in the experiment's file."""
    rows = {row["says"]: row for row in parse_experiment(path.read_text())["expectations"]}
    kept = store.read_stored(path.stem)["verdicts"]
    bare = [v["says"] for v in kept if v["word"] == DIFFERS and not rows[v["says"]].get("differs")]
    assert not bare, f"sluice results store {path.stem}: {bare}"


def experiment_of_two_runs() -> Experiment:
    """Return an experiment of two runs of one arm, each of which should write fewer than 6
    blocks."""
    full = load(experiment_file("mogul-4.1-fast"), "quick")
    says = {"says": "few", "metric": "stat.disk.writes", "arm": "delayed+PU", "op": "<"}
    expected = full.expectations[0] | says | {"value": 6, "of": "every"}
    return replace(
        full,
        plot={"columns": ["stat.disk.writes"]},
        runs=full.runs[:2],
        expectations=[expected],
    )


def result_of(seed: int, writes: int, kernel: str) -> dict:
    """Return the result of a run with this seed, by this kernel; it reads twice as many blocks."""
    counters = {"disk.writes": (writes, "requests"), "disk.reads": (2 * writes, "requests")}
    about = {"arm": "delayed+PU", "variables": {"seed": seed}, "kernel": kernel}
    return {**about, "counters": counters, "virtual_ms": 1000}


def test_means_and_verdicts_are_stored_of_the_columns_and_of_what_documents_quote(
    tmp_path: Path,
) -> None:
    """The runs write 3 and 6 blocks. A document quotes the reads, which are no column."""
    experiment = experiment_of_two_runs()
    results = [result_of(1, 3, kernel_hash()), result_of(2, 6, kernel_hash())]
    kept = store.shorten_results(experiment, results, ["stat.disk.reads"])
    assert store.read_stored(experiment.name, store.write_stored(kept, tmp_path).parent) == kept
    [row] = kept["rows"]
    assert (row["arm"], row["at"], row["trials"]) == ("delayed+PU", {}, 2)
    assert row["measured"] == {"stat.disk.reads": 9, "stat.disk.writes": 4.5}
    [verdict] = kept["verdicts"]
    assert (verdict["says"], verdict["word"]) == ("few", "NOT SO")
    [finding] = store.stored_findings(kept)
    assert (finding.paper, finding.word) == (findings.OURS, "NOT SO")
    assert kept["contest"] == []


def test_whole_results_of_this_kernel_only_are_stored(tmp_path: Path) -> None:
    experiment = experiment_of_two_runs()
    results = [result_of(1, 3, kernel_hash()), result_of(2, 6, kernel_hash())]
    with pytest.raises(BadResult, match="1 of 2 runs are there"):
        store.shorten_results(experiment, results[:1], [])
    with pytest.raises(BadResult, match="another kernel"):
        store.shorten_results(experiment, [results[0], result_of(2, 6, "older")], [])
    with pytest.raises(BadResult, match="sluice results store none"):
        store.read_stored("none", tmp_path)


class BadReport(Exception):
    """The error of a report that cannot be drawn."""


def test_a_report_that_cannot_be_drawn_costs_no_result(monkeypatch) -> None:
    """Results are made and stored before any report is drawn."""
    done: list[object] = []

    def make(_experiments: list, request: Request) -> bool:
        done.append(request.with_report)
        return True

    def draw(*_what: object) -> bool:
        raise BadReport

    monkeypatch.setattr(update, "make_experiments", make)
    monkeypatch.setattr(update, "store_results", lambda _: done.append("stored"))
    monkeypatch.setattr(update, "update_documents", lambda _: done.append("documents"))
    monkeypatch.setattr(update, "write_reports", draw)
    with pytest.raises(BadReport):
        update.measure([load(experiment_file("own-oracle"), "full")], Request())
    assert done == [False, "stored", "documents"]


def test_samples_made_again_show_that_results_are_this_kernels_too(monkeypatch, capsys) -> None:
    """The stored results count as this kernel's if all figures are equal. A new counter may be
    added, if it is 0. If figures differ, the arm is named, and nothing is written. Nothing is
    written either if the stored results have no marks, or are of other runs."""
    whole = load(experiment_file("mogul-4.1-fast"), "quick")
    writes = {"async+PU": 5, "delayed+PU": 3}
    # two of the runs of each of these arms, with different seeds
    asked = replace(whole, name="e", runs=[run for run in whole.runs if run.arm in writes][::5])

    def result(run: Run, more: int, new: dict) -> dict:
        counters = {"disk.writes": (writes[run.arm] + more, "requests")} | new
        about = {"arm": run.arm, "variables": run.variables}
        return {**about, "virtual_ms": 9 - run.number, "counters": counters}

    before = [result(run, 0, {}) for run in asked.runs]
    kept = {"experiment": "e", "kernel": "older", "samples": store.sample_runs(before)}
    last = {run.arm: run.variables for run in asked.runs}  # the shortest
    assert {row["arm"]: row["variables"] for row in kept["samples"]} == last
    written: list[dict] = []
    monkeypatch.setattr(store, "read_stored", lambda name: kept)
    monkeypatch.setattr(store, "write_stored", written.append)

    def check(more: int, new: dict, keep: bool = False) -> tuple[bool, str]:
        def made(of: list, *_, **__) -> list[Outcome]:
            """Beside the samples there is a longer run, as an interrupted experiment leaves it."""
            longer = result(replace(asked.runs[0], variables={"seed": 99}), 7, {})
            return [Outcome([*(result(r, more, new) for r in only), longer]) for _, only in of]

        monkeypatch.setattr(runner, "execute_all", made)
        return recheck.recheck_results([asked], 1, "", keep), capsys.readouterr().out

    same = (True, "e: the stored results are this kernel's too\n")
    assert check(0, {"new.held": (0, "blocks")}) == same
    assert written == [], "a check changes nothing"
    assert check(0, {"new.held": (0, "blocks")}, keep=True) == same
    assert store.is_current(written[0])
    assert not store.is_current(kept)
    kept["kernel"] = kernel_hash()
    assert check(1, {}, keep=True) == (True, ""), "what is of this kernel needs no note"
    for other in ((1, {}), (0, {"new.held": (1, "blocks")})):
        good, said = check(*other)
        assert not good
        assert said == "e: not as it was: async+PU, delayed+PU: sluice results store e\n"
    kept["samples"][0]["variables"] = {"seed": 1000}
    assert check(0, {}) == (
        False,
        "e: its runs are not those of its stored results: sluice results store e\n",
    )
    del kept["samples"]
    assert check(0, {}) == (False, "e: stored without marks: sluice results store e\n")
    assert len(written) == 1


def test_stored_findings_are_counted_and_what_is_lacking_is_named(monkeypatch, capsys) -> None:
    """Of the stored results, `good` is by another kernel, `old` has no paper, and `bad` was judged
    by another expectation. `none` has no results."""
    paper = "Author 1999: few"

    def read(name: str) -> dict:
        verdict = {"says": "few", "why": "", "paper": paper, "sure": True}
        here = {"experiment": name, "kernel": "older"}
        stored = {
            "good": here | {"verdicts": [verdict | {"word": "as the paper", "contest": False}]},
            "bad": here | {"verdicts": [verdict | {"word": "NOT SO", "contest": False}]},
            "old": here | {"verdicts": [{"says": "few", "word": "as said"}]},
        }
        if name not in stored:
            raise BadResult(name)
        return stored[name]

    def asks(name: str, says: str) -> Experiment:
        return replace(whole, name=name, expectations=[{"says": says, "paper": paper}])

    whole = load(experiment_file("mogul-4.1-fast"), "quick")
    monkeypatch.setattr(store, "read_stored", read)
    good, bad = asks("good", "few"), asks("bad", "fewer")
    assert update.print_findings([good, asks("old", "few"), asks("none", "few")])
    said = capsys.readouterr().out
    assert said.splitlines()[1].split()[2:] == ["1", "1", "0", "0", "0", "0", "1", "of", "1"]
    assert "sluice results store: old, none" in said
    assert "another kernel: good" in said
    assert "other expectations" not in said
    assert not update.print_findings([good, bad])
    said = capsys.readouterr().out
    assert "NOT SO  bad: few" in said
    assert "judged by other expectations than today's: sluice results store: bad\n" in said


def test_a_stored_verdict_takes_its_finding_and_check_from_todays_file() -> None:
    """An expectation may get a finding or a check later. Neither changes its key in the stored
    results."""
    row = {"says": "few", "paper": "Author 1999: few", "arm": "PU", "metric": "read.mean_ms"}
    line = [compact.key(row), "paper", "=5"]
    plain = compact.decode_verdict(line, {line[0]: row}, None, 5)
    assert (plain["word"], plain.get("finding"), plain.get("check")) == ("as the paper", None, None)
    more = row | {"finding": "Author 1999, 2: few", "check": "arithmetic"}
    assert compact.key(more) == line[0], "no result is stored anew for them"
    read = compact.decode_verdict(line, {line[0]: more}, None, 5)
    assert (read["word"], read["finding"]) == ("as said", "Author 1999, 2: few")
    kept = {"experiment": "e", "verdicts": [plain, read]}
    assert [one.paper for one in store.stored_findings(kept)] == ["Author 1999", findings.CHECKS]


def test_the_picture_shows_what_is_kept_of_the_runs() -> None:
    """The picture of the README is drawn from frontpage.DATA, and its longest reads are those of
    the stored results."""
    shown = frontpage.unpack(frontpage.DATA.read_text())
    assert frontpage.pack(shown) == frontpage.DATA.read_text()
    assert frontpage.PICTURE.read_text() == frontpage.draw_front_page(shown), (
        "sluice results store draws it anew"
    )
    longest = {row["arm"]: row["measured"]["read.max_ms"] for row in read("mogul-4.1-fast")["rows"]}
    for arm, panel in shown.items():
        assert 0.9 < panel["longest_ms"] / longest[arm] < 1 + 1e-5  # one is stored with six digits
        seen_us = max(low for _, low, _ in panel["read_heat"])
        assert seen_us <= panel["longest_ms"] * 1000 < bucket_high(seen_us)


def test_a_long_read_is_a_dot_and_a_short_one_a_cell() -> None:
    """A read of 459 ms is drawn as a dot, nine of 14 ms as one cell of the heat map, in each of two
    panels."""
    panel = {"longest_ms": 500, "bin_ms": 1000, "bins": 60, "read_heat": []}
    for heat, dots, cells in [([], 0, 0), ([[3, 14336, 9]], 0, 1), ([[3, 458752, 1]], 1, 0)]:
        made = frontpage.draw_front_page(
            {arm: {**panel, "read_heat": heat} for arm in frontpage.PANELS}
        )
        assert made.count("<circle") == 2 * dots
        assert made.count("fill-opacity") == 2 * cells


def test_a_picture_wants_a_run_of_each_of_its_sets() -> None:
    """Without any runs, the first missing arm is named."""
    with pytest.raises(BadResult, match=r"no run of delayed\+PU"):
        frontpage.pick_data([])
