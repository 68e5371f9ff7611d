"""The page of a cut (sluice/crash/theatre.py): each step, and what becomes of each write.

A stage is the page's data: a step for each event up to the cut, with a write's fate (durable, kept,
torn, lost), the blocks that it goes to, and the flush that makes it durable. FATES are the endings
of a story's lines, with the fates that they mean.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Page
from typed import enter

from sluice.crash.faults import FAULTS, plant
from sluice.crash.laboratory import Laboratory
from sluice.crash.machine import Setup
from sluice.crash.story import Story, describe_fate, tell, tell_cut
from sluice.crash.theatre import DURABLE, KEPT, LOST, TORN, build_stage
from sluice.crash.workloads import find_workload

FATES = {"": (DURABLE, KEPT), "  <- torn": (TORN,), "  <- was still": (LOST,)}


@pytest.fixture(scope="module")
def laboratory() -> Iterator[Laboratory]:
    """Return a laboratory with the usual setup."""
    with Laboratory(Setup()) as made:
        yield made


@pytest.fixture(scope="module")
def stories(laboratory: Laboratory) -> list[Story]:
    """Return the stories of all cuts of a write and an fsync that leave something in the cache."""
    workload = find_workload("append /f 6000 10; fsync /f")
    cuts = laboratory.try_workload(workload, keep_cuts=True).tried
    wanted = [cut.number for cut in cuts if cut.chosen or cut.torn >= 0][::9]
    return [tell_cut(laboratory, workload, number) for number in wanted]


def test_the_page_and_the_story_agree_on_each_writes_fate(
    laboratory: Laboratory, stories: list[Story]
) -> None:
    """The story's words for a write begin with a key of FATES. All four fates occur."""
    seen = set()
    for story in stories:
        stage = build_stage(story, laboratory)
        assert len(stage["steps"]) == story.failure.cut.after + 1
        for i, step in enumerate(stage["steps"]):
            fate = describe_fate(story.failure.cut, i, story.events, laboratory.volatile)
            if step["kind"] == "write":
                assert step["fate"] in next(
                    FATES[k] for k in sorted(FATES)[::-1] if fate.startswith(k)
                )
                seen.add(step["fate"])
    assert seen == {DURABLE, KEPT, TORN, LOST}


def test_a_write_is_durable_from_the_next_flush_on(
    laboratory: Laboratory, stories: list[Story]
) -> None:
    """`flushed` is the number of the next flush, or of the end."""
    for story in stories:
        steps = build_stage(story, laboratory)["steps"]
        for i, step in enumerate(steps):
            kinds = [later["kind"] for later in steps[i + 1 :]] + ["flush"]
            assert step["flushed"] == i + 1 + kinds.index("flush")


def test_each_write_has_its_blocks(laboratory: Laboratory, stories: list[Story]) -> None:
    """The step's text names the blocks that are written, by what they hold."""
    stage = build_stage(stories[-1], laboratory)
    for step, event in zip(stage["steps"], stories[-1].events, strict=False):
        if event.kind == "write":
            first, count = step["blocks"]
            assert (first * 4096, count * 4096) == (event.at, len(event.data))
            assert stage["blocks"][first] in (
                *step["text"].split(": ")[1].split(", "),
                "free at the start",
            )


def test_the_page_shows_a_loss_step_by_step(
    browser: Page, laboratory: Laboratory, tmp_path: Path
) -> None:
    """The button `back` goes to earlier steps, at last to the mount, when nothing was written
    yet."""
    fault = next(fault for fault in FAULTS if fault.name == "name-first")
    story = tell(laboratory, find_workload(fault.workload), plant(fault, laboratory.base.disk))
    assert story
    out, cut = tmp_path / "cut.html", story.failure.cut
    typed = ("crash", "theatre", fault.workload, "--cut", cut.number, "--fault", fault.name)
    assert enter(*typed, "--out", out) == 0
    browser.errors.clear()
    browser.visit(out)
    shown = str(browser.value("document.getElementById('end').innerText"))
    assert "inode 24 is no file" in shown
    assert browser.value("document.querySelectorAll('#disk .kept').length") == 1
    browser.value("document.getElementById('back').click()")
    assert browser.value("document.getElementById('now').innerText").startswith(
        f"{cut.after}: write"
    )
    assert browser.value("document.querySelectorAll('#disk .pending').length") == 1
    browser.value("for (let i = 0; i < 99; i++) document.getElementById('back').click()")
    assert browser.value("document.getElementById('now').innerText") == "0: mount /"
    assert browser.value("document.querySelectorAll('#disk .durable').length") == 0
    assert browser.value("document.documentElement.scrollWidth <= innerWidth")
    assert not browser.errors
    assert "default-src 'none'" in out.read_text()
