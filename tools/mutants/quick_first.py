"""Run the quickest tests first, and keep the times of tests: a pytest plugin.

Tests with the word SLUICE_TEST_ABOUT in their names run before all others. SLUICE_TEST_TIMES names
the file of times. Times are kept only from a run in which all tests passed.
"""

import json
import os
from pathlib import Path

import pytest

TIMES = Path(os.environ["SLUICE_TEST_TIMES"])
ABOUT = os.environ.get("SLUICE_TEST_ABOUT", "")
taken: dict[str, float] = {}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort by subject and by the time that was kept; tests without one come last."""
    known = json.loads(TIMES.read_text(encoding="utf-8")) if TIMES.exists() else {}
    items.sort(key=lambda item: (ABOUT not in item.name, known.get(item.nodeid, float("inf"))))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note how long the test itself took."""
    if report.when == "call":
        taken[report.nodeid] = round(report.duration, 3)


def pytest_sessionfinish(exitstatus: int) -> None:
    """Keep the times of a run that passed, if there are none yet."""
    if not exitstatus and not TIMES.exists():
        TIMES.write_text(json.dumps(taken, indent=1), encoding="utf-8")
