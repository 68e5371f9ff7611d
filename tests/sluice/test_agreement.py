"""How far the twin's results are from the machine's: what is compared, and the table's rows."""

import numpy as np
import pytest

from sluice.cli import agree
from sluice.experiment import agreement, interval
from tools.bench import targets


def line(arm: str, mean: float, std: float, writes: int) -> dict:
    response = {"mean": mean, "std": std}
    computing = {"mean": writes + 1, "std": 1}
    jobs = [{"job": "read", "response_ns": response}, {"job": "write", "response_ns": computing}]
    return {"arm": arm, "jobs": jobs, "counters": {"disk.writes": [writes]}}


MACHINE = [line("PU", 100, 50, 1000), line("PU", 200, 50, 1000), line("AIPU", 10, 5, 0)]
TWIN = [line("PU", 102, 50, 1010), line("PU", 198, 45, 1000), line("AIPU", 10.3, 5, 0)]


def test_figures_are_compared_run_by_run_and_by_arm() -> None:
    found = agreement.by_arm(MACHINE, TWIN)
    assert list(found) == ["PU", "AIPU"]
    assert found["PU"]["read", "mean"] == pytest.approx([2, -1])
    assert found["PU"]["read", "deviation"] == pytest.approx([0, -10])
    assert found["PU"]["disks", "writes"] == pytest.approx([1, 0])
    assert found["AIPU"]["read", "mean"] == pytest.approx([3])
    assert ("disks", "writes") not in found["AIPU"]  # of none there is no share


def test_the_bench_has_the_most_of_all_arms_beside_its_limit() -> None:
    rows = list(targets.agreement_rows([MACHINE], [TWIN]))
    assert [row.value for row in rows] == pytest.approx([3, 5, 0.5])
    assert [row.target for row in rows] == [2, 5, 1]
    assert [row.cells()[-1] for row in rows] == ["MISSED", "met", "met"]


def test_a_mean_has_the_interval_of_all_tables_and_none_of_few_runs() -> None:
    values = np.array([1.0, 2.0, 2.5, 4.0, 9.0])
    found = interval.of_mean(values.tolist())
    assert len(values) == interval.LEAST and found
    assert agree.cells(values) == ["+3.70", f"{found.low:+.2f} to {found.high:+.2f}"]
    assert agree.cells(values[1:]) == ["+4.38", ""]


def test_runs_that_only_one_has_are_an_error() -> None:
    with pytest.raises(ValueError, match="shorter"):
        agreement.by_arm(MACHINE, TWIN[:1])
