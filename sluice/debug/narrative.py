"""Describes the chain of a read (chain.py, remote.py) in words.

Times have all digits, so they add up.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sluice.debug.chain import OTHER, SERVICE, WAIT, Chain, Explainer, Link, Origin
from sluice.debug.instant import event_numbers
from sluice.debug.remote import PLACES, Carried, Part, RemoteChain, RemoteExplainer
from sluice.debug.stored_run import Kept
from sluice.experiment.service import Command
from sluice.host import printing
from sluice.system.requests import Request


def format_ms(ns: int) -> str:
    """Return a duration in ms, with all six decimals, so that durations add up."""
    return f"{ns // 10**6:,}.{ns % 10**6:06}"


def format_instant(ns: int) -> str:
    """Return a point in time in ms, rounded to 1 us."""
    return f"{ns / 1e6:,.3f} ms"


def plural(n: int, word: str) -> str:
    """Return a number and a noun, in the plural unless the number is 1."""
    return f"{n:,} {word}{'' if n == 1 else 's'}"


@dataclass
class Group:
    """The links that have one cause, and the sum of their times."""

    words: str
    origin: Origin | None = None
    write: bool = False
    ns: int = 0
    commands: list[Command] = field(default_factory=list)


def group_links(links: list[Link]) -> list[Group]:
    """Return the links grouped by cause, in the order of each cause's first link."""
    groups: dict[tuple[str, str, Origin | None, bool], Group] = {}
    for link in links:
        write = bool(link.command and link.command.write)
        origin = link.origin if link.kind == WAIT else None
        cause = (link.kind, link.words, origin, write)
        group = groups.setdefault(cause, Group(link.words, origin, write))
        group.ns += link.ns
        if link.command:
            group.commands.append(link.command)
    return list(groups.values())


def describe_queue_wait(group: Group) -> str:
    """Return which commands a read waited for at the drive, and who had queued them."""
    requests, origin = [r for c in group.commands for r in c.requests], group.origin
    assert origin  # a link of kind WAIT has an origin
    if not requests:
        return f"behind {plural(len(group.commands), 'command')} of {origin.words}"
    direction = "write" if group.write else "read"
    what = plural(len(requests), direction)
    if len(group.commands) < len(requests):
        what += f" in {plural(len(group.commands), 'command')}"
    first, last = (f(r.queued_ns for r in requests) for f in (min, max))
    when = f"queued at {format_instant(first)}"
    if last > first:
        when = f"queued from {format_instant(first)} to {format_instant(last)}"
    burst = ""
    if origin.burst >= 0:
        burst = f", in a burst of {plural(origin.blocks, 'block')} (event {origin.burst})"
    return f"behind {what} of {origin.words}{burst}, {when}"


def describe_own_service(command: Command, words: str) -> str:
    """Return a description of one part of the read's own service."""
    begin, end = command.cylinders
    if words == "seek":
        return f"seek over {plural(abs(end - begin), 'cylinder')}, from {begin} to {end}"
    return words


def describe_links(chain: Chain) -> Iterator[tuple[int, str]]:
    """Yield the rows of a chain's table: nanoseconds, and the cause in words. The last row is the
    sum."""
    waits = [link for link in chain.links if link.kind == WAIT]
    others = [link for link in chain.links if link.kind == OTHER]
    for group in group_links(waits):
        yield group.ns, describe_queue_wait(group)
    before = [link for link in others if link.begin_ns < chain.command.begin_ns]
    for group in group_links(before):
        yield group.ns, group.words
    for link in chain.links:
        if link.kind == SERVICE:
            yield link.ns, describe_own_service(chain.command, link.words)
    for link in others:
        if link.begin_ns >= chain.command.begin_ns:
            yield link.ns, link.words
    yield sum(link.ns for link in chain.links), "in all"


def table_lines(found: list[tuple[int, str]]) -> Iterator[str]:
    """Yield the rows of a chain's table as lines that fit the terminal."""
    widest = max(len(format_ms(ns)) for ns, _ in found)
    for ns, words in found:
        yield from printing.fill_lines(f"  {format_ms(ns):>{widest}} ms  {words}", widest + 7)


def describe_demand(kept: Kept, read: Request) -> Iterator[str]:
    """Yield a sentence about when a process asked for a prefetched block, if one did while the
    block was read."""
    sectors = int(kept.run.config["block"].rstrip("K")) * 2
    for e in kept.recording.events:
        if e.time_ns > read.completed_ns:
            return
        if e.time_ns < read.queued_ns or e.name != "hit":
            continue
        if (e.disk, e.block) == (read.disk, read.sector // sectors):
            waited_ns = read.completed_ns - e.time_ns
            yield (
                f"{kept.recording.process(e.pid)} asked for it at {format_instant(e.time_ns)}, "
                f"and waited {format_ms(waited_ns)} ms of that"
            )
            return


def describe_read(kept: Kept, number: int, read: Request, origin: Origin) -> list[str]:
    """Return sentences about which read of which run is explained."""
    events, run = event_numbers(kept, read), kept.run
    size = f"{read.sectors} sectors from {read.sector} on"
    return [
        kept.title or f"{run.experiment} run {run.number}, {run.name}",
        f"read {number}: {size}, of {kept.recording.disk(read.disk)}, for {origin.words}",
        f"queued at {format_instant(read.queued_ns)} (event {events['queued']}), when "
        f"{plural(read.found_queued, 'request')} waited; "
        f"done at {format_instant(read.completed_ns)} (event {events['completed']})",
    ]


def explanation(read: Request, said: list[str], rows: Iterator[tuple[int, str]]) -> str:
    """Return sentences and a table of times as one text."""
    lines = [line for sentence in said for line in printing.fill_lines(sentence, 2)]
    response = f"Its response time is {format_ms(read.response_ns)} ms:"
    return "\n".join([*lines, "", response, *table_lines(list(rows))])


def explain_read(explainer: Explainer, number: int, read: Request) -> str:
    """Return an explanation, in lines, of what a read waited for. number: the read's, as --read
    takes it."""
    kept, chain = explainer.kept, explainer.explain(read)
    said = describe_read(kept, number, read, chain.origin)
    command = chain.command
    if len(command.requests) > 1:
        said.append(
            f"dispatched in one command with {plural(len(command.requests) - 1, 'neighbour')}: "
            f"{command.sectors} sectors"
        )
    said += describe_demand(kept, read)
    return explanation(read, said, describe_links(chain))


# ---- a read of a remote disk ----

PLACE_WORDS = {"client": "client", "wire": "wire", "server": "server", "disk": "server's disk"}


def describe_behind(explainer: RemoteExplainer, behind: Sequence[Carried]) -> str:
    """Return the commands of the client that a read waited for: how many, and whose."""
    groups: dict[tuple[bool, Origin], int] = {}
    for c in behind:
        what = c.request.write, explainer.origins.origin_of_request(c.request)
        groups[what] = groups.get(what, 0) + 1
    said = []
    for (write, origin), count in groups.items():
        burst = ""
        if origin.burst >= 0:
            burst = f" in a burst of {plural(origin.blocks, 'block')} (event {origin.burst})"
        said.append(f"{plural(count, 'write' if write else 'read')} of {origin.words}{burst}")
    return " and ".join(said)


def describe_part(explainer: RemoteExplainer, part: Part) -> str:
    """Return the cause of a part in words."""
    behind = f": {describe_behind(explainer, part.behind)}" if part.behind else ""
    return f"{part.words}{behind}"


def describe_parts(explainer: RemoteExplainer, found: RemoteChain) -> Iterator[tuple[int, str]]:
    """Yield the rows of a remote read's table, as describe_links does: ns and words. Parts with the
    same words are one row."""
    rows: dict[str, int] = {}  # ns by words
    explained: set[int] = set()  # requests at the server's disk: each is described once, as a whole
    for part in found.parts:
        if part.of is None:
            words = f"{PLACE_WORDS[part.place]}: {describe_part(explainer, part)}"
            rows[words] = rows.get(words, 0) + part.ns
        elif id(part.of) not in explained:
            explained.add(id(part.of))
            for ns, words in [*describe_links(part.of)][:-1]:
                row = f"{PLACE_WORDS['disk']}: {words}"
                rows[row] = rows.get(row, 0) + ns
    yield from ((ns, words) for words, ns in rows.items())
    yield sum(part.ns for part in found.parts), "in all"


def describe_places(found: RemoteChain) -> str:
    """Return the sum of the parts of each place."""
    sums = [
        f"{PLACE_WORDS[place]} "
        f"{format_ms(sum(part.ns for part in found.parts if part.place == place))} ms"
        for place in PLACES
    ]
    return f"By place: {', '.join(sums)}."


def explain_remote_read(explainer: RemoteExplainer, number: int, read: Request) -> str:
    """Return an explanation, in lines, of what a read of a remote disk waited for. number: the
    read's, as --read takes it."""
    found = explainer.explain(read)
    said = describe_read(explainer.kept, number, read, found.origin)
    again = found.tries - found.calls
    if again:
        said.append(f"its call was sent again {plural(again, 'time')}")
    said += describe_demand(explainer.kept, read)
    text = explanation(read, said, describe_parts(explainer, found))
    return "\n".join([text, "", *printing.fill_lines(describe_places(found), 0)])
