"""Every policy that names a source in the literature is measured beside others, and judged.

A policy without a source, such as a reader's own, needs no experiment: adding a policy means only
adding a file. The fixture `shipped` has all experiments of the tree, in full or quick size.
"""

import re
import shutil
from pathlib import Path

import pytest
from shipped import GROUP, load_once

from sluice.experiment.findings import paper_place
from sluice.experiment.rows import parse_experiment
from sluice.experiment.schema import Experiment
from sluice.host.experiments import experiment_files
from sluice.host.paths import ROOT

# They run in the worker of the other tests that load all experiments, so that the predictions of
# the models are computed once.
pytestmark = pytest.mark.xdist_group(GROUP)

KINDS = ("update", "write", "sched", "replace", "prefetch", "place", "order")
HEAD = re.compile(r"/\*.*?\*/", re.S)  # of a file: its first comment
SOURCE = re.compile(r"^ \* Sources?: ", re.M)


def policies_with_source(root: Path) -> list[tuple[str, str]]:
    """Return kind and name of each policy of a tree whose head says "Source:"."""
    return [
        (kind, path.stem)
        for kind in KINDS
        for path in sorted((root / "policies" / kind).glob("*.c"))
        if (head := HEAD.match(path.read_text())) and SOURCE.search(head[0])
    ]


# Arms that others are compared with; these name no source.
BASELINES = [("sched", "fcfs"), ("prefetch", "none")]
POLICIES = [*policies_with_source(ROOT), *BASELINES]
# Without any update policy nothing is expected, so it is not judged
NOTHING = {("update", "none")}


@pytest.fixture(scope="module", params=["full", "quick"])
def shipped(request: pytest.FixtureRequest) -> list[Experiment]:
    """Return all experiments of the tree, in one size."""
    return [load_once(path, request.param) for path in experiment_files()]


def arms_with(experiment: Experiment, kind: str, name: str) -> set[str]:
    """Return the arms that use the policy."""
    return {run.arm for run in experiment.runs if run.config["policies"][kind] == name}


@pytest.mark.parametrize(("kind", "name"), POLICIES)
def test_a_policy_has_its_row_beside_others_of_its_kind(
    shipped: list[Experiment], kind: str, name: str
) -> None:
    """Some experiment has arms with this policy and arms with another."""
    rows = [e for e in shipped if (own := arms_with(e, kind, name)) and own != set(e.arms)]
    assert rows, f"no experiment compares {kind}/{name} with another, and its head names a source"


@pytest.mark.parametrize(("kind", "name"), [p for p in POLICIES if p not in NOTHING])
def test_something_is_expected_of_a_policy(shipped: list[Experiment], kind: str, name: str) -> None:
    """Some expectation compares an arm with this policy."""
    judged = [
        expectation
        for e in shipped
        for expectation in e.expectations
        if (own := arms_with(e, kind, name)) != set(e.arms)
        and {expectation["arm"], expectation.get("than")} & own
    ]
    assert judged, f"no experiment expects anything of {kind}/{name}, and its head names a source"


def test_a_new_policy_needs_an_experiment_only_if_it_names_a_source(tmp_path: Path) -> None:
    """A copy of a policy is found if its head names a source, and not otherwise."""
    shutil.copytree(ROOT / "policies", tmp_path / "policies")
    mine = tmp_path / "policies" / "sched" / "mine.c"
    text = (ROOT / "policies" / "sched" / "clook.c").read_text().replace("clook", "mine")
    mine.write_text(text)
    assert set(policies_with_source(tmp_path)) - set(policies_with_source(ROOT)) == {
        ("sched", "mine")
    }
    mine.write_text(SOURCE.sub(" * ", text))
    assert policies_with_source(tmp_path) == policies_with_source(ROOT)


def words_without_place(toml: dict) -> list[str]:
    """Return an experiment's sentences about papers that name no place in the paper."""
    asked = [row.get("finding") or row.get("paper", "") for row in toml.get("expectations", [])]
    cells = [row.get("place") or str(row) for row in toml.get("published", [])]
    return [words for words in [*filter(None, asked), *cells] if not paper_place(words)]


@pytest.mark.parametrize("path", experiment_files(), ids=lambda path: path.stem)
def test_what_is_a_papers_names_its_place_in_the_paper(path: Path) -> None:
    """A place is a section, a table or a figure."""
    assert not words_without_place(parse_experiment(path.read_text()))


def test_a_finding_and_a_cell_without_their_place_are_found() -> None:
    """A place is behind the year: ", 4" is section 4. The first expectation is of no paper."""
    toml = {
        "expectations": [{}, {"paper": "Author 1999: few"}, {"paper": "Author 1999, 4: few"}],
        "published": [{"value": "5"}, {"place": "Author 1999"}, {"place": "Author 1999, table 1"}],
    }
    assert words_without_place(toml) == ["Author 1999: few", "{'value': '5'}", "Author 1999"]
    row = {"paper": "Author 1999: few", "finding": "Author 1999, 4: few"}
    assert words_without_place({"expectations": [row]}) == []
