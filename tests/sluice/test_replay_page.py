"""The page of a replay (sluice/sweep/replay_page.py): its pictures have the rows' figures."""

import re
from pathlib import Path

import numpy as np
import pytest
from test_block_replay import random_requests, type_replay, write_packed

from sluice.blocks.slices import HOUR_NS
from sluice.sweep import replay_page

pytestmark = pytest.mark.native


def write_hours(tmp_path: Path) -> Path:
    """Return a trace of six hours, in a path with a blank."""
    table = random_requests(3000, 30_000)
    table["time_ns"] = np.linspace(0, 6 * HOUR_NS - 1, 3000).astype("<u8")
    (tmp_path / "a & b").mkdir()
    return write_packed(tmp_path / "a & b" / "six <hours>.requests", table)


def find_page(said: str) -> Path:
    """Return the path of the page that the last line of a command's output names."""
    return Path(said.splitlines()[-1].removeprefix("page: "))


def test_the_last_line_is_the_address_of_a_page_with_the_pictures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pictures' values are those of the printed table, which has in a line the cache's size,
    the policy and, in column 5, the mean. The same command writes the same page again."""
    specs = []
    draw = replay_page.figure_html

    def keep(number: int, head: str, about: str, spec: dict) -> str:
        """Draw a picture as the page does, and keep its heading and specification."""
        specs.append((head, spec))
        return draw(number, head, about, spec)

    monkeypatch.setattr(replay_page, "figure_html", keep)
    file = write_hours(tmp_path)
    assert type_replay(file, "--policies=lru|arc", "--sizes=2,10", "--optimum") == 0
    said = capsys.readouterr().out
    page = find_page(said).read_text(encoding="utf-8")
    assert page.count("<svg") == len(specs) == 4
    assert "six &lt;hours&gt;.requests" in page and "six <hours>" not in page
    assert not re.search(r'(?:src|href)="https?:', page)
    heads = dict(specs)
    means = heads["Mean response times"]["data"]["values"]
    assert {(one["policy"], one["cache"]) for one in means} == {
        (policy, size) for policy in ("lru", "arc", "optimum") for size in ("2 %", "10 %")
    }
    table = said[said.index("cache  policy") :].partition("\n\n")[0].splitlines()[1:]
    for line in table:
        words = line.split()
        one = next(
            m for m in means if m["policy"] == words[2] and m["cache"].split()[0] == words[0]
        )
        assert float(words[5].replace(",", "")) == pytest.approx(one["value"], rel=0.01)
        assert one["low"] <= one["value"] <= one["high"]
    hours = heads["By the hour of the trace"]["data"]["values"]
    assert {one["hour"] for one in hours} == set(range(6))
    type_replay(file, "--policies=lru|arc", "--sizes=2,10", "--optimum")
    assert find_page(capsys.readouterr().out).read_text(encoding="utf-8") == page


@pytest.mark.parametrize("words", [["--drive=none"], ["--loop=closed"]])
def test_a_page_without_times_or_hours_leaves_their_pictures_out(
    tmp_path: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a drive there are no response times. In a closed loop no request has a time of the
    trace."""
    assert type_replay(write_hours(tmp_path), *words, "--policies=lru", "--sizes=5") == 0
    page = find_page(capsys.readouterr().out).read_text(encoding="utf-8")
    assert "<h3>By the hour" not in page and "<svg" in page
    assert ("Mean response times" in page) == (words != ["--drive=none"])
