"""What C-LOOK would have chosen, at each dispatch that the trace shows."""

from grade.scoring.assertions import Wrong, expect
from grade.scoring.moments import Moment
from grade.scoring.scenario import FOR_EVER, Run

SHOWN = 12  # queued sectors, in a message


def choice(queued: list[int], head: int) -> int:
    """The lowest sector from the head on; if there is none, the lowest of all."""
    return min([sector for sector in queued if sector >= head] or queued)


def some(queued: list[int]) -> str:
    """A list of sectors, for a message."""
    rest = len(queued) - SHOWN
    return f"{', '.join(map(str, queued[:SHOWN]))}{f' and {rest} more' if rest > 0 else ''}"


def check(
    run: Run, start_ns: int = 0, end_ns: int = FOR_EVER, least: int = 10, at_return: bool = False
) -> None:
    """Compare each choice in that time with C-LOOK's. At least `least` choices must be made.

    at_return: blame the policy, too, if it gives the kernel no request it can use at the end of a
    sweep. One group is about that, so it costs that group alone.
    """
    queued: list[int] = []
    faults = {fault.number: fault for fault in run.faults}
    head = choices = 0
    fault = None  # of the choice that follows
    for number, event in enumerate(run.events):
        if event.disk != run.data_disk:
            continue
        if event.name == "queued":
            queued.append(event.block)
        elif number in faults:
            fault = faults[number]
        elif event.name == "issued":
            wanted, there = choice(queued, head), sorted(queued)
            in_time = len(queued) > 1 and start_ns <= event.time_ns < end_ns
            if in_time and fault and (at_return or wanted >= head):
                raise run.blame(fault)
            in_time &= not fault
            fault = None
            if in_time and event.block != wanted:
                raise Wrong(
                    f"sector {wanted} next, at {event.time_ns / 1e6:.3f} ms, with the head at "
                    f"sector {head} and requests queued for sectors {some(there)}",
                    f"sector {event.block}",
                    Moment(run.folder.name, number, event),
                )
            choices += in_time
            queued.remove(event.block)
            head = event.block + event.argument
    expect(
        choices >= least,
        f"at least {least} choices between queued requests",
        f"{choices}",
    )
