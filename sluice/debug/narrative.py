"""The chain of a read (chain.py), in words. Times in ms have all digits, so they add up exactly."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from sluice.debug.chain import OTHER, SERVICE, WAIT, Chain, Explainer, Link, Origin
from sluice.debug.instant import event_numbers
from sluice.debug.stored_run import Kept
from sluice.experiment.service import Command
from sluice.host import printing
from sluice.system.requests import Request


def ms(ns: int) -> str:
    """A time in ms, exact to the ns."""
    return f"{ns // 10**6:,}.{ns % 10**6:06}"


def ms_of(ns: int) -> str:
    """A point in time, rounded to 1 us."""
    return f"{ns / 1e6:,.3f} ms"


def many(n: int, word: str) -> str:
    return f"{n:,} {word}{'' if n == 1 else 's'}"


@dataclass
class Group:
    """The links with one cause."""

    words: str
    origin: Origin | None = None
    write: bool = False
    ns: int = 0
    commands: list[Command] = field(default_factory=list)


def grouped(links: list[Link]) -> list[Group]:
    """The links by cause, in the order of each cause's first link."""
    groups: dict[tuple, Group] = {}
    for link in links:
        write = bool(link.command and link.command.write)
        origin = link.origin if link.kind == WAIT else None
        cause = (link.kind, link.words, origin, write)
        group = groups.setdefault(cause, Group(link.words, origin, write))
        group.ns += link.ns
        if link.command:
            group.commands.append(link.command)
    return list(groups.values())


def behind(group: Group) -> str:
    """What a read waited for at the drive, and who had queued that."""
    requests = [r for c in group.commands for r in c.requests]
    if not requests:
        return f"behind {many(len(group.commands), 'command')} of {group.origin.words}"
    direction = "write" if group.write else "read"
    what = many(len(requests), direction)
    if len(group.commands) < len(requests):
        what += f" in {many(len(group.commands), 'command')}"
    first, last = (f(r.queued_ns for r in requests) for f in (min, max))
    when = f"queued at {ms_of(first)}"
    if last > first:
        when = f"queued from {ms_of(first)} to {ms_of(last)}"
    origin = group.origin
    burst = ""
    if origin.burst >= 0:
        burst = f", in a burst of {many(origin.blocks, 'block')} (event {origin.burst})"
    return f"behind {what} of {origin.words}{burst}, {when}"


def own(command: Command, words: str) -> str:
    """A part of the read's own service."""
    begin, end = command.cylinders
    if words == "seek":
        return f"seek over {many(abs(end - begin), 'cylinder')}, from {begin} to {end}"
    return words


def links(chain: Chain) -> Iterator[tuple[int, str]]:
    """The links of a chain: the nanoseconds of each, and what they went to."""
    waits = [link for link in chain.links if link.kind == WAIT]
    others = [link for link in chain.links if link.kind == OTHER]
    for group in grouped(waits):
        yield group.ns, behind(group)
    before = [link for link in others if link.begin_ns < chain.command.begin_ns]
    for group in grouped(before):
        yield group.ns, group.words
    for link in chain.links:
        if link.kind == SERVICE:
            yield link.ns, own(chain.command, link.words)
    for link in others:
        if link.begin_ns >= chain.command.begin_ns:
            yield link.ns, link.words
    yield sum(link.ns for link in chain.links), "in all"


def lines(chain: Chain) -> Iterator[str]:
    """The links of a chain in lines that fit the terminal."""
    found = list(links(chain))
    widest = max(len(ms(ns)) for ns, _ in found)
    for ns, words in found:
        yield from printing.filled(f"  {ms(ns):>{widest}} ms  {words}", widest + 7)


def asked_for(kept: Kept, read: Request) -> Iterator[str]:
    """When a process first asked for a prefetched block, if one did while it was read."""
    sectors = int(kept.run.config["block"].rstrip("K")) * 2
    for e in kept.recording.events:
        if e.time_ns > read.completed_ns:
            return
        if e.time_ns < read.queued_ns or e.name != "hit":
            continue
        if (e.disk, e.block) == (read.disk, read.sector // sectors):
            waited_ns = read.completed_ns - e.time_ns
            yield (
                f"{kept.recording.process(e.pid)} asked for it at {ms_of(e.time_ns)}, and waited "
                f"{ms(waited_ns)} ms of that"
            )
            return


def tell(explainer: Explainer, number: int, read: Request) -> str:
    """What a read waited for, in lines. number: as READ= has it."""
    kept, chain = explainer.kept, explainer.explain(read)
    events, run = event_numbers(kept, read), kept.run
    size = f"{read.sectors} sectors from {read.sector} on"
    said = [
        f"{run.experiment} run {run.number}, {run.name}",
        f"read {number}: {size}, of {kept.recording.disk(read.disk)}, for {chain.origin.words}",
        f"queued at {ms_of(read.queued_ns)} (event {events['queued']}), when "
        f"{many(read.found_queued, 'request')} waited; done at {ms_of(read.completed_ns)} "
        f"(event {events['completed']})",
    ]
    command = chain.command
    if len(command.requests) > 1:
        said.append(
            f"dispatched in one command with {many(len(command.requests) - 1, 'neighbour')}: "
            f"{command.sectors} sectors"
        )
    said += asked_for(kept, read)
    said = [line for sentence in said for line in printing.filled(sentence, 2)]
    return "\n".join([*said, "", f"Its response time is {ms(read.response_ns)} ms:", *lines(chain)])
