"""Limits of the host's time exist to end what hangs. No slow host reaches them, because they are
multiplied by how much slower the host is than ours: a benchmark takes OURS_S on ours.
"""

import re
from pathlib import Path

import pytest

from grade.engine import workbench
from grade.engine.workbench import Workbench
from sluice.host import limits
from sluice.host.paths import ROOT

OWN = re.compile(r"\b(?:timeout|limit_s)(?::\s*\w+)?\s*=\s*(\d+(?:\.\d+)?)")


def test_the_general_limit_is_the_only_one_in_tests() -> None:
    """Limits under a second are allowed: a test with such a limit wants the limit to be reached."""
    found = [
        f"{path.name}: {limit[0]}"
        for path in sorted(ROOT.glob("tests/sluice/*.py"))
        for limit in OWN.finditer(path.read_text())
        if float(limit[1]) >= 1
    ]
    assert not found, "use HANG_S of sluice/host/limits.py"


def test_a_slower_host_is_known_by_what_computing_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A benchmark takes half, once or 8 times as long as on our host; a faster host counts as
    ours."""
    for took_s, times in ((limits.OURS_S / 2, 1), (limits.OURS_S, 1), (limits.OURS_S * 8, 8)):
        monkeypatch.setattr(limits, "benchmark_s", lambda took_s=took_s: took_s)
        limits.host_slowdown.cache_clear()
        assert limits.host_slowdown() == pytest.approx(times)
    limits.host_slowdown.cache_clear()


def test_a_machine_on_a_slower_host_has_more_of_its_processor(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The limit of processor time that a machine's process gets rises with the measured slowness of
    the host."""
    given = []  # the limits of processor time

    def begin(in_child, **how):
        """Take the place of what starts QEMU: note the limit, and start nothing."""
        given.append(in_child.args[0])
        raise InterruptedError

    for times in (1, 8):
        monkeypatch.setattr(workbench, "host_slowdown", lambda times=times: times)
        with pytest.raises(InterruptedError):
            made = Workbench(tmp_path, tmp_path, tmp_path, "1", 120)
            made._boot(begin, workbench.Config(()), tmp_path, 0)
    assert given == [workbench.CPU_S, 8 * workbench.CPU_S]
