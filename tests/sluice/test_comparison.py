"""The comparison of sets of policies over experiments: right, whole and offline.

Three small experiments have four arms each, and wait_s of 3 and 6 s: `reads` and `writes` have
results, `unmade` has none. A set is a combination of policies and tunables; a case is an experiment
in a setting (`reads: wait_s = 3`); a row is a set's figures in a case. Core sets are those with
names in experiments/sets/core.toml. Fixtures: `folder` has the files and results, `shown` the two
studies, and `page` is the report.

The twin makes the runs, in less time than the machine.
"""

import json
import re
import subprocess
from collections import Counter
from dataclasses import replace
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from page_specs import specs_text
from typed import LINE

from sluice.experiment import metrics, result
from sluice.experiment.load import load
from sluice.experiment.schema import MACHINE_ENGINE, TWIN, BadExperiment, Experiment
from sluice.host.paths import ROOT
from sluice.report import study, theme
from sluice.report.comparison import core, matrix, questions, write
from sluice.report.comparison.rows import (
    MEASURES,
    Row,
    all_rows,
    common_sets,
    comparable_cases,
    set_names,
)
from sluice.report.study import Study
from sluice.twin import engine

pytestmark = pytest.mark.xdist_group("comparison")  # its runs are made once
FILE = """\
claim = "one of <several>"
source = "this test"

[machine]
nbuf = 100

[machine.data]
drive = "fixed"
size = "16M"
files = {"/read" = "1M", "/write" = "2M"}

[policies]
write = "delayed"

[[arms]]
name = "PU"
policies = {update = "pu"}
tunables = {"pu.interval_ms" = "{wait_s} s"}

[[arms]]
name = "AIPU"
policies = {update = "aipu"}

[arms.tunables]
"aipu.age_ms" = "{wait_s} s"
"aipu.scan_ms" = "2 s"
"aipu.meta_ms" = 0  # as it is by default
"pu.interval_ms" = "9 s"

[[arms]]
name = "IPU"
policies = {update = "ipu"}

[[arms]]
name = "syncer"
policies = {update = "bsd_syncer"}

[sweep]
wait_s = [3, 6]
"""
READS = """\
[workload]
commands = \"\"\"
iogen name=r rw=randread filename=/data/read nr=100 thinktime_us=100000 -- \\
    name=w rw=randwrite filename=/data/write rate_iops=20 until=r
\"\"\"
[plot]
columns = []
histogram = "r"
[contest]
arm = "AIPU"
metrics = ["r.mean_ms"]
"""
WRITES = """\
[workload]
commands = "iogen name=w rw=randwrite filename=/data/write nr=200 rate_iops=20"
"""
FILES = {"reads": FILE + READS, "unmade": FILE + WRITES, "writes": FILE + WRITES}
MADE = ("reads", "writes")


def command(verb: str, name: object, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `sluice VERB NAME --folder FOLDER` to its end."""
    line = [*LINE, *verb.split(), str(name), "--folder", str(folder), *words]
    return subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of three experiments, of which two have results."""
    folder = tmp_path_factory.mktemp("comparison")
    for name, text in FILES.items():
        (folder / f"{name}.toml").write_text(text)
    made_by = MACHINE_ENGINE if engine.host_refusal_reason() else TWIN
    words = ("--no-report", f"--engine={made_by}")
    for name in MADE:
        done = command("experiment run", folder / f"{name}.toml", folder, *words)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def experiments(folder: Path) -> list[Experiment]:
    """Return the three loaded experiments."""
    return [load(folder / f"{name}.toml") for name in FILES]


@pytest.fixture(scope="module")
def shown(folder: Path, experiments: list[Experiment]) -> list[Study]:
    """Return the studies of the two experiments that have results."""
    return [
        study.build_study(e, result.read(folder / e.name / "results.jsonl"))
        for e in experiments
        if e.name in MADE
    ]


@pytest.fixture(scope="module")
def page(folder: Path) -> str:
    """Return the report that `make report` writes about several experiments."""
    done = command("experiment report", f"{folder}/", folder)
    assert done.returncode == 0, done.stderr
    assert f"comparison: {folder}/comparison.html" in done.stdout
    return (folder / "comparison.html").read_text()


def value(row: Row, measure: str) -> float | None:
    """Return a row's figure by the measure's name; None if nobody measured it."""
    return row.values[[m.name for m in MEASURES].index(measure)]


def test_a_set_is_what_differs_and_the_tunables_of_its_own_policies(shown: list[Study]):
    """A tunable with its default value, or of a policy that the arm does not use, is no part of the
    set's name."""
    assert set(set_names(all_rows(shown))) == {"pu", "aipu aipu.scan_ms=2000", "ipu", "bsd_syncer"}


def test_sets_of_few_cases_are_not_chosen_at_first(shown: list[Study]):
    """The set `rare` has one case, the others have four."""
    found = all_rows(shown)
    rare = replace(found[0], policies="rare")
    assert common_sets([*found, rare]) == set_names(found)
    assert common_sets([rare]) == ["rare"]


def add_faster_arm(shown: list[Study]) -> Study:
    """Return the study of reads with one more arm: the policies of AIPU on another machine, with
    one write."""
    of = next(study for study in shown if study.experiment.name == "reads")
    more = json.loads(json.dumps([r for r in of.results if r["arm"] == "AIPU"]))
    for one in more:
        one["arm"] = "AIPU faster"
        one["counters"]["disk.writes"][0] = 1
    experiment = replace(of.experiment, arms=[*of.experiment.arms, "AIPU faster"])
    return replace(of, experiment=experiment, results=[*of.results, *more])


def test_two_arms_of_one_set_are_compared_with_all_others(shown: list[Study]):
    """A case's smallest figure is the smallest of all arms of an experiment in a setting. With the
    added arm there are five rows in each case."""
    found = all_rows([add_faster_arm(shown)])
    assert comparable_cases(found) == ["reads: wait_s = 3", "reads: wait_s = 6"]
    for case in comparable_cases(found):
        here = [row for row in found if row.case == case]
        assert len({row.policies for row in here}) == len(here) == 5
        assert min(here, key=lambda row: value(row, "writes")).system.arm == "AIPU faster"
    loads = {row.load for row in found if row.system.arm.startswith("AIPU")}
    assert loads == {
        f"{case}: {arm}" for case in comparable_cases(found) for arm in ("AIPU", "AIPU faster")
    }


def test_without_core_sets_under_one_load_nothing_is_said_of_them_and_all_sets_are_shown(
    shown: list[Study], folder: Path, monkeypatch: pytest.MonkeyPatch
):
    """LEAST is the number of core sets that a load must have. Here only three are there, and four
    are needed."""
    monkeypatch.setattr(core, "LEAST", 4)
    found = all_rows(shown)
    assert write.initial_sets(found) == set_names(found)
    figures = write.comparison_figures(found)
    pictures = dict.fromkeys([figure.name for figure in figures], "<svg>")
    said = write.comparison_page(shown, found, [], figures, pictures)
    assert "core sets" not in said
    assert Table(said).ticked == set_names(found)


def test_numbers_on_colours_are_dark_on_a_dark_page_too(shown: list[Study]):
    """A dark page replaces theme.INK by a light colour; a cell stays as pale as it is."""
    found = all_rows(shown)
    cells = json.dumps(matrix.matrix_spec(found, MEASURES[0], set_names(found)))
    marks = re.findall(r'\{"type": "text", "color": "(#\w+)"', cells)
    assert marks == [matrix.ON_COLOUR] * 2 and theme.INK not in marks


def test_each_experiment_in_each_setting_is_a_case(shown: list[Study]):
    """Two experiments in two settings are four cases, and four arms in each are 16 rows."""
    found = [f"{name}: wait_s = {wait_s}" for name in MADE for wait_s in (3, 6)]
    assert comparable_cases(all_rows(shown)) == found
    assert len(all_rows(shown)) == 16


def test_the_measures_are_the_metrics(shown: list[Study]):
    """Each figure of a row is the metric of its one trial."""
    for row in all_rows(shown):
        [trial] = row.system.trials
        assert value(row, "writes") == metrics.evaluate(trial, "stat.disk.writes") > 0
        assert value(row, "oldest") == metrics.evaluate(trial, "hist.bio.age_written.max_s") > 2
        idle_s = metrics.evaluate(trial, "stat.cpu.idle_s")
        assert value(row, "cpu") == pytest.approx(trial["virtual_ms"] / 1000 - idle_s)
        if row.study.experiment.name == "reads":
            assert value(row, "worst") == metrics.evaluate(trial, "r.max_ms")
            assert value(row, "p99.9") == metrics.evaluate(trial, "r.p99.9_ms") > 1


def test_the_picture_has_each_value_as_a_multiple_of_the_best(folder: Path, page, shown):
    """The numbers in the picture's cells are a set's figure divided by the lowest of the case."""
    first = core.core_policy_sets(all_rows(shown))
    found = [row for row in all_rows(shown) if row.policies in first]
    for measure in ("writes", "worst"):
        words = re.findall(r">([^<]+)</text>", (folder / f"comparison/{measure}.svg").read_text())
        for case in comparable_cases(found):
            values = [value(row, measure) for row in found if row.case == case]
            for v in values:
                assert None in values or f"{v / min(values):.2f}" in words, (measure, case)


def test_what_nobody_measured_is_no_cell(shown: list[Study]):
    """The load `writes` has no reads, so some figures are None."""
    found = all_rows(shown)
    cells = matrix.cell_data(found, comparable_cases(found))
    assert len(cells) == sum(v is not None for row in found for v in row.values)


class Table(HTMLParser):
    """The rows of a page's tables by set and case; what the page loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows, self.loads, self.boxes, self.ticked = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note rows, boxes (and which of them are ticked), and addresses that the page loads."""
        values = dict(attrs)
        if "data-set" in values:
            self.rows.append((values["data-set"], values["data-case"]))
        if tag == "input":
            self.boxes.append(values["value"])
            self.ticked += [values["value"]] if "checked" in values else []
        sources = [values[name] for name in ("src", "srcset", "data") if name in values]
        self.loads += [source for source in sources if not source.startswith("data:")]
        self.loads += [values["href"]] if tag == "link" else []


def test_the_page_has_every_system_and_says_what_is_lacking(page: str, shown: list[Study]):
    """The table has each row, a box to tick for each set, and a note about the experiment without
    results."""
    table = Table(page)
    assert table.rows == [(row.policies, row.case) for row in all_rows(shown)]
    assert table.boxes == set_names(all_rows(shown))
    assert "Without results: unmade." in page
    assert "one of &lt;several&gt;" in page
    assert "All have write delayed, sched clook" in page
    assert "The words of a set: update, and tunables" in page
    assert 'href="reads/report.html"' in page
    assert "<td>AIPU</td><td>r.mean_ms</td><td>all that promise as much</td><td>2</td>" in page


# The core sets that were run here, each with the arm that has its policies
CORE = {"PU": "PU", "IPU": "IPU", "BSD syncer": "syncer"}


def worst_ms(study: Study, arm: str, wait_s: int) -> float:
    """Return the longest response of an arm, from the results themselves."""
    responses = {"reads": "r", "writes": "hist.disk1.read_response"}[study.experiment.name]
    [found] = [r for r in study.results if (r["arm"], r["variables"]["wait_s"]) == (arm, wait_s)]
    return metrics.evaluate(found, f"{responses}.max_ms")


def test_the_first_answer_is_what_the_results_say(shown: list[Study], page: str):
    """The page's first sentence names the core set with the shortest longest wait under most loads.
    Loads on which all are equal do not count."""
    loads = {load.name: load for load in core.build_loads(all_rows(shown))}
    wins = Counter()
    for of in shown:
        for wait_s in (3, 6):
            by_name = {name: worst_ms(of, arm, wait_s) for name, arm in CORE.items()}
            assert (
                loads[f"{of.experiment.name}: wait_s = {wait_s}"].known_values("worst") == by_name
            )
            least = min(by_name.values())
            if least < max(by_name.values()):
                wins[" and ".join(n for n in by_name if by_name[n] == least)] += 1
    answer = questions.QUESTIONS[0].answer(list(loads.values()), "worst")
    first, often = wins.most_common(1)[0]
    assert answer.startswith(f"{first} under {often} of {wins.total()} loads")
    assert escape(answer) in page


def test_the_cost_is_told_as_multiples_of_the_least(shown: list[Study]):
    """The champion is the set of policies whose longest wait is the shortest under most loads. The
    second answer compares its writes, under each load, with the fewest of all sets."""
    loads = core.build_loads(all_rows(shown))
    best = questions.champion(loads)
    by_hand = []
    for one in shown:
        for wait_s in (3, 6):
            writes = {
                r["arm"]: r["counters"]["disk.writes"][0]
                for r in one.results
                if r["variables"]["wait_s"] == wait_s and r["arm"] in CORE.values()
            }
            by_hand.append(writes[CORE[best]] / min(writes.values()))
    ratios = [ratio for ratio, _ in questions.ratios(loads, "writes", best)]
    assert ratios == pytest.approx(sorted(by_hand))
    answer = questions.QUESTIONS[1].answer(loads, "writes")
    assert questions.ratio_range_words(by_hand) in answer or answer.startswith(f"Nothing: {best}")


def test_an_answer_is_of_whole_sentences_and_counts_nothing_that_there_is_not(shown: list[Study]):
    """The third answer, about the age of dirty blocks."""
    loads = core.build_loads(all_rows(shown))
    answer = questions.QUESTIONS[2].answer(loads, "oldest")
    first = rf"{questions.champion(loads)} lets a block become [\d.]+ to [\d.]+ times as old as"
    assert re.match(first + r" the set with the least\. The difference is largest under ", answer)


def test_the_page_asks_first_and_opens_on_the_longest_wait(page: str):
    """Questions come before tables, and the first picture shows the measure "worst"."""
    body = page[page.index("<body") :]
    assert body.index('id="question-worst"') < body.index("<h2>All sets") < body.index("<input")
    assert MEASURES[0].name == "worst"
    assert '"name":"measure","value":"worst"' in specs_text(page)


def test_a_core_set_that_was_not_run_says_so(page: str):
    """All cells of the row `Linux` say "not run"."""
    first = page[page.index("<summary>All core sets, ms") :]
    [linux] = re.findall(r"<tr><td[^>]*>Linux</td>(.*?)</tr>", first[: first.index("</table>")])
    assert set(re.findall(r"<td[^>]*>([^<]*)</td>", linux)) == {"not run"}


def test_what_is_ticked_is_what_the_picture_shows(page: str, shown: list[Study]):
    """At first the core sets that were run are ticked."""
    ticked = Table(page).ticked
    assert ticked == core.core_policy_sets(all_rows(shown)) == ["pu", "ipu", "bsd_syncer"]
    chosen = re.search(r'"name":"chosen","value":(\[.*?\])', specs_text(page))[1]
    assert json.loads(chosen) == ticked
    assert f"{len(ticked)} of 4 sets are shown" in page


def test_an_experiment_may_take_its_arms_from_the_named_sets(folder: Path):
    """`sets = "core"` in place of the arms."""
    own = FILE[FILE.index("[[arms]]") : FILE.index("[sweep]")]
    text = 'sets = "core"\n' + FILE.replace(own, "") + WRITES
    (folder.parent / "core.toml").write_text(text)
    made = load(folder.parent / "core.toml")
    assert made.arms == [of.name for of in core.core_sets()]
    policies = {run.arm: run.config["policies"] for run in made.runs}
    assert (policies["Sluice"]["update"], policies["Sluice"]["sched"]) == ("ipu", "sluice")
    (folder.parent / "core.toml").write_text(text.replace('"core"', '"cor"', 1))
    with pytest.raises(BadExperiment, match='unknown file of sets "cor"; did you mean "core"'):
        load(folder.parent / "core.toml")


def test_the_page_loads_nothing(page: str):
    assert Table(page).loads == []
    assert "default-src 'none'" in page


def test_the_same_results_give_the_same_bytes(
    folder: Path, page: str, experiments: list[Experiment]
):
    """The command and this process write the same. The folder has two files, PNG and SVG, for each
    measure, for the picture of all sets, and for each question."""
    pictures = sorted((folder / "comparison").iterdir())
    before = [path.read_bytes() for path in pictures]
    assert len(pictures) == 2 * (
        len(MEASURES) + 1 + len(re.findall(r'id="question-\w+" class', page))
    )
    for path in pictures:
        path.unlink()
    assert write.write_comparison(experiments, folder) == folder / "comparison.html"
    assert (folder / "comparison.html").read_text() == page
    assert [path.read_bytes() for path in pictures] == before


def test_without_any_results_nothing_is_written(folder: Path, tmp_path: Path):
    done = command("experiment report", f"{folder}/", tmp_path)
    assert done.returncode == 2
    assert "no experiment has results" in done.stderr
    assert list(tmp_path.iterdir()) == []
