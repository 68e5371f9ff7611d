"""Every policy of the literature is measured beside others, and judged."""

import pytest

from grade.host.paths import ROOT
from grade.measure.choose import EXPERIMENTS
from grade.measure.load import load
from grade.measure.schema import Experiment

KINDS = ("update", "write", "sched", "replace", "prefetch")
POLICIES = [
    (kind, path.stem) for kind in KINDS for path in sorted((ROOT / "policies" / kind).glob("*.c"))
]
# Only with it are none of its kind's policies measured: there is nothing to judge.
NOTHING = {("update", "none")}


@pytest.fixture(scope="module", params=["full", "quick"])
def shipped(request: pytest.FixtureRequest) -> list[Experiment]:
    return [load(path, request.param) for path in sorted(EXPERIMENTS.glob("*.toml"))]


def arms_with(experiment: Experiment, kind: str, name: str) -> set[str]:
    """The arms that use the policy."""
    return {run.arm for run in experiment.runs if run.config["policies"][kind] == name}


@pytest.mark.parametrize(("kind", "name"), POLICIES)
def test_a_policy_has_its_row_beside_others_of_its_kind(
    shipped: list[Experiment], kind: str, name: str
) -> None:
    rows = [e for e in shipped if (own := arms_with(e, kind, name)) and own != set(e.arms)]
    assert rows, f"no experiment compares {kind}/{name} with another"


@pytest.mark.parametrize(("kind", "name"), [p for p in POLICIES if p not in NOTHING])
def test_something_is_expected_of_a_policy(shipped: list[Experiment], kind: str, name: str) -> None:
    judged = [
        expectation
        for e in shipped
        for expectation in e.expectations
        if (own := arms_with(e, kind, name)) != set(e.arms)
        and {expectation["arm"], expectation.get("than")} & own
    ]
    assert judged, f"no experiment expects anything of {kind}/{name}"
