"""A test that finds no browser skips, and leaves nothing open behind it."""

import gc
import sys
import warnings
from pathlib import Path

import pytest
from browser import Driven, Page
from firefox import Firefox


@pytest.mark.parametrize("browser", [Page, Firefox])
def test_a_missing_browser_leaves_nothing_open(
    browser: type[Driven], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    left: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: left.append(told.exc_value))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        with pytest.raises(pytest.skip.Exception, match="no browser"):
            browser(tmp_path)  # type: ignore[call-arg]
        gc.collect()
    assert left == []
