"""One cut of a workload: told as text, shown as a page, or opened in gdb."""

from collections.abc import Callable, Sequence
from pathlib import Path

from sluice.crash import debugger
from sluice.crash.campaign_run import CampaignRequest, make_laboratory
from sluice.crash.faults import plant
from sluice.crash.laboratory import Laboratory
from sluice.crash.log_faults import EVERY_FAULT
from sluice.crash.operations import BadOperation
from sluice.crash.story import (
    Places,
    Story,
    describe_numbered,
    format_story,
    tell,
    tell_cut,
)
from sluice.crash.workloads import Workload, find_workload


def find_story(
    laboratory: Laboratory, workload: Workload, number: int | None, fault: str
) -> Story | None:
    """Return the story of a workload's cut with this number, or of its simplest failure; or None
    if there is none, which is printed. Raises BadOperation if there is no such cut."""
    chosen = next((one for one in EVERY_FAULT if one.name == fault), None)
    planted = plant(chosen, laboratory.base.disk) if chosen else None
    if number is not None:
        return tell_cut(laboratory, workload, number, planted)
    story = tell(laboratory, workload, planted)
    if not story:
        print(f"{workload}: no cut loses anything")
    return story


def use_story(
    request: CampaignRequest,
    name: str,
    number: int | None,
    fault: str,
    use: Callable[[Story, Laboratory, str], bool],
) -> bool:
    """Find the story of a workload's simplest failure, or of its cut with this number. Returns what
    `use` makes of the story, its laboratory and the command's options; or true if no cut loses
    anything, which is printed."""
    with make_laboratory(request) as laboratory:
        story = find_story(laboratory, find_workload(name), number, fault)
        options = request.options + (f" --fault {fault}" if fault else "")
        return not story or use(story, laboratory, options)


def show_cut(
    request: CampaignRequest,
    name: str,
    number: int | None,
    fault: str = "",
    out: Path | None = None,
) -> bool:
    """Tell a workload's simplest failure, or its cut with this number. Returns whether nothing was
    lost. out: where the cut's image goes."""

    def show(story: Story, laboratory: Laboratory, options: str) -> bool:
        """Print the story, keep the disk if asked to; return whether nothing was lost."""
        print(format_story(story, laboratory, options))
        if out:
            out.write_bytes(story.image)
            print(f"The disk after this cut: {out}")
        return not story.failure.wrong

    return use_story(request, name, number, fault, show)


def debug_cut(
    request: CampaignRequest, name: str, number: int, commands: Sequence[str] | None
) -> int:
    """Open gdb where the last command before a cut goes to the disk. Returns gdb's exit status.
    Raises BadOperation if there is no such cut, or no command before it."""
    workload = find_workload(name)
    with make_laboratory(request) as laboratory:
        events = laboratory.record(workload)
        cuts = [cut for cut, _ in laboratory.iterate_cuts(events)]
        if not 0 <= number < len(cuts):
            raise BadOperation(f"--cut {number}: the workload has cuts 0 to {len(cuts) - 1}")
        after = cuts[number].after
        last = debugger.last_command(events, after)
        if last < 0:
            raise BadOperation(f"--cut {number}: nothing has reached the disk by then")
        places = Places(laboratory.base.disk, laboratory.start_tree())
        what = describe_numbered(last, events, workload.all_operations(), places)
        words = f"Stopped at {what}. The power goes after event {after}."
        return debugger.debug_cut(laboratory, workload, events, after, words, commands)
