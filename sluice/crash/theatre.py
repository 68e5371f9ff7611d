"""`sluice crash theatre`: a cut as a page that opens offline, which shows each step until the power
goes.

The page has the operations and the writes on one line of events, the queue of writes that the drive
has not been told to flush, and a map of the disk's blocks. At the end it has the cut: which writes
are on the platters, which one is torn, and what is lost. theatre.js draws what `stage` says.
"""

import json
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import TypedDict

from sluice.crash.cuts import Cut
from sluice.crash.disk_events import Event
from sluice.crash.laboratory import Laboratory
from sluice.crash.operations import Operation, describe
from sluice.crash.story import Places, Story, describe_certainty, describe_event, describe_expected
from sluice.report.head import SCRIPT, page_head
from sluice.report.page import STYLE

HERE = Path(__file__).parent
DURABLE, KEPT, TORN, LOST = "durable", "kept", "torn", "lost"  # what becomes of a write


class Step(TypedDict):
    """An event as the page shows it. blocks: the first one of a write, and how many; flushed: the
    event that makes it durable, or the number of steps; fate: what the cut makes of it."""

    kind: str
    text: str
    blocks: tuple[int, int]
    flushed: int
    fate: str
    sectors: tuple[int, ...]


class Stage(TypedDict):
    """All that the page shows. blocks: what each of the disk's blocks is for."""

    blocks: list[str]
    steps: list[Step]
    title: str
    wrong: list[str]
    expected: str
    certain: list[str]


def find_flushed(events: Sequence[Event], cut: Cut, volatile: bool) -> list[int]:
    """Return for each event until the cut the number of the next event that makes all writes before
    it durable, a flush; the number of the steps if there is none. Without a volatile cache each
    event does so."""
    steps = cut.after + 1
    flushed, next_flush = [steps] * steps, steps
    for i in range(steps - 1, -1, -1):
        flushed[i] = next_flush
        if events[i].kind == "flush" or not volatile:
            next_flush = i
    return flushed


def decide_fate(cut: Cut, number: int, flushed: int) -> str:
    """Return what a cut makes of a write that the event `flushed` makes durable."""
    if flushed <= cut.after:
        return DURABLE
    if number == cut.torn:
        return TORN
    return KEPT if number in cut.chosen else LOST


def list_steps(
    story: Story, operations: Sequence[Operation], places: Places, volatile: bool
) -> Iterator[Step]:
    """Yield the events until the cut."""
    cut, size = story.failure.cut, places.reader.block_bytes
    flushed = find_flushed(story.events, cut, volatile)
    for i, event in enumerate(story.events[: cut.after + 1]):
        is_write = event.kind == "write"
        first = event.at // size  # blocks
        last = (event.at + max(len(event.data), 1) - 1) // size
        yield Step(
            kind=event.kind,
            text=describe_event(event, operations, places).strip(),
            blocks=(first, last - first + 1) if is_write else (0, 0),
            flushed=flushed[i],
            fate=decide_fate(cut, i, flushed[i]) if is_write else "",
            sectors=cut.sectors if i == cut.torn else (),
        )


def build_stage(story: Story, laboratory: Laboratory) -> Stage:
    """Return what the page of a cut shows."""
    operations = story.failure.workload.all_operations()
    places = Places(laboratory.base.disk, laboratory.start_tree())
    count = len(laboratory.base.disk) // places.reader.block_bytes
    names = {0: "the superblock"} | places.at
    said = "Lost" if story.failure.wrong else "Kept"
    return Stage(
        blocks=[names.get(block, "free at the start") for block in range(count)],
        steps=list(list_steps(story, operations, places, laboratory.volatile)),
        title=f"{said}: {describe(story.failure.workload.operations)}",
        wrong=list(story.failure.wrong),
        expected=describe_expected(story.failure.cut, operations),
        certain=describe_certainty(story, operations, places),
    )


def cut_page(story: Story, laboratory: Laboratory, commands: Sequence[str]) -> str:
    """Return the page of a cut. commands: what shows it again, as typed."""
    stage = build_stage(story, laboratory)
    data = json.dumps(stage, separators=(",", ":")).replace("</", "<\\/")
    style = STYLE.read_text(encoding="utf-8") + (HERE / "theatre.css").read_text(encoding="utf-8")
    number, cuts = story.failure.cut.number, story.cuts
    return Template((HERE / "theatre.html").read_text(encoding="utf-8")).substitute(
        head=page_head(stage["title"], style, SCRIPT),
        title=escape(stage["title"]),
        about=f"Cut {number} of {cuts}; {story.failed} of them lose something.",
        commands="\n".join(map(escape, commands)),
        stage=data,
        script=(HERE / "theatre.js").read_text(encoding="utf-8"),
    )
