"""Run reads beside writers under three sets of policies, and compare the response times.

The sets are the submission's, the best set that we have, and the classic one. A figure counts only
if blocks are also written in time.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import mean

from grade.engine.assertions import Slide, expect
from grade.engine.scenario import BLOCK_BYTES, BLOCK_SECTORS, Request, Run, Scenario
from grade.engine.workbench import Workbench

OWN = "write=own update=own sched=own"
OURS = "write=delayed update=ipu sched=sluice"
CLASSIC = "write=delayed update=pu sched=clook"

READ, DONE, WRITTEN = 1, 2, 3  # beacons: a first part of the load, all of it, and a sync after it
AGE_S = 30  # under the classic policies a block's write begins when it was dirty for so long
FAR_TOO_OLD = 2  # times that: with an older block nothing counts
SYNCED = 120  # blocks
LEAST_READS = 0.9  # of the reads under the classic set, with which points begin
LONGEST = 0.01  # of the reads
# So many rounds that points hardly depend on the nonce. Each lasts the same time, because what the
# classic set makes of a burst depends on when its daemon looks; and longer than AGE_S, because a
# burst is written at that age.
ROUNDS = 8
ROUND_S, RATE = 45, 8  # RATE: reads a second of each reader
ALONE_S = 200  # of one reader, before the rounds
LASTS_S = 30 * 60  # at most, with any set of policies
# The drive is the same for every nonce: how far a set comes from the classic one to ours depends on
# the drive, and points must not depend on the nonce. Hidden loads have other drives.
VISIBLE = ("lps540s",)
FILES = ("r0", "r1", "r2")  # one for each reader: reads of one file would wait for each other
READ_FILES = tuple((f"/{name}", "12M") for name in FILES)


@dataclass(frozen=True)
class Three:
    """The runs of a load under the three sets."""

    own: Run
    ours: Run
    classic: Run


def three(bench: Workbench, load: Scenario) -> Three:
    """Run the load under each set, and return the runs."""

    def set_policies(policies: str, name: str) -> Scenario:
        return replace(load, name=f"{load.name}-{name}", args=f"{policies} {load.args}")

    return Three(
        bench.run(set_policies(OWN, "own")),
        bench.reference(set_policies(OURS, "ours")),
        bench.reference(set_policies(CLASSIC, "classic")),
    )


def readers(seed: int, words: str) -> str:
    """Return a job of iogen for each file."""
    return " -- ".join(
        f"name={name} rw=randread seed={seed + i} filename=/data/{name} {words}"
        for i, name in enumerate(FILES)
    )


def mixed_script(seed: int, burst: int, rate: int) -> str:
    """Return a script of readers at random times beside writers.

    One writer makes a burst of writes, and the other writes the same blocks again and again, `rate`
    a second. The script does this several times.
    """
    words = f"runtime_s={ROUND_S} rate_iops={RATE} arrival=poisson"
    return "\n".join(
        f"iogen bs=4k {readers(seed + 10 * i, words)} -- "
        f"name=burst rw=write filename=/data/burst nr={burst} -- "
        f"name=again rw=zipfwrite filename=/data/again rate_iops={rate} until=r0 > /dev/null"
        for i in range(ROUNDS)
    )


def visible(bench: Workbench) -> Scenario:
    """Return the load of the visible tests.

    The load has a reader beside a steady writer. Then three readers read now and then, beside a
    burst and a process that writes the same blocks again and again.
    """
    seed = bench.random("load").randrange(1, 10**9)
    return Scenario(
        name="load",
        script=f"""
iogen bs=4k name=read rw=randread seed={seed} filename=/data/r0 runtime_s={ALONE_S} \
thinktime_us=30000 -- \
name=steady rw=mogul filename=/data/steady cache_blocks=600 until=read > /dev/null
beacon {READ}
{mixed_script(seed, 500, 30)}
beacon {DONE}
sync
beacon {WRITTEN}
""",
        args="nbuf=1200",
        data=(*READ_FILES, ("/steady", "5M"), ("/burst", "2M"), ("/again", "1M")),
        size="64M",
        drives=VISIBLE,
        trace_k=512,
        virtual_s=LASTS_S,
    )


def busy(bench: Workbench) -> Scenario:
    """Return a load of three readers without a pause.

    Beside them, one file's blocks are written and fsynced, and another file's are written and left.
    """
    seed = bench.random("busy").randrange(1, 10**9)
    return Scenario(
        name="busy",
        script=f"""
iogen bs=4k {readers(seed, "nr=1300")} > /dev/null &
dd if=/input of=/data/left bs=4k conv=notrunc 2> /dev/null
dd if=/input of=/data/synced bs=4k conv=notrunc 2> /dev/null
beacon {READ}
sync /data/synced
beacon {DONE}
sleep 45
sync
beacon {WRITTEN}
""",
        args="nbuf=600",
        files=(("/input", bench.random("synced").randbytes(SYNCED * BLOCK_BYTES)),),
        data=(
            *READ_FILES,
            *((path, f"{SYNCED * BLOCK_BYTES >> 10}K") for path in ("/left", "/synced")),
        ),
        size="64M",
        drives=VISIBLE,
    )


# ---- what is measured ----


def reads_ms(run: Run) -> list[float]:
    """Return the response times of reads, the shortest first."""
    sectors = set().union(*(run.sectors(path) for path, _ in READ_FILES))
    return sorted(r.response_ms for r in run.data(write=False) if r.sector in sectors)


def requested_blocks(run: Run) -> list[list[int]]:
    """Return the blocks that each reader asked the cache for, in order."""
    blocks = {at // BLOCK_SECTORS for path, _ in READ_FILES for at in run.sectors(path)}
    by_reader: dict[int, list[int]] = defaultdict(list)
    for _, event in run.events.select_named("hit", "miss"):
        if event.disk == run.data_disk and event.block in blocks:
            by_reader[event.pid].append(event.block)
    return [by_reader[pid] for pid in sorted(by_reader)]


def expect_same_load(own: Run, classic: Run) -> None:
    """Raise Wrong unless the readers asked for the blocks that the seed determines.

    A kernel can reach the programs' memory, and so change what they read. A reader that waits for
    each answer comes further under faster policies.
    """
    theirs, right = requested_blocks(own), requested_blocks(classic)
    same = len(theirs) == len(right)
    for one, other in zip(theirs, right, strict=False):  # a reader's blocks under both
        common = min(len(one), len(other))
        same = same and len(one) >= LEAST_READS * len(other) and one[:common] == other[:common]
    expect(
        same,
        "the readers to ask for the same blocks as under the classic set",
        f"they asked for others, or for fewer: {sum(map(len, theirs))} against"
        f" {sum(map(len, right))} blocks",
    )


def writes(run: Run) -> list[Request]:
    """Return all writes of the load."""
    return [r for r in run.data(write=True) if r.queued_ns < run.beacon(WRITTEN)]


def oldest_s(run: Run) -> float:
    """Return the longest time from when a block became dirty until the disk had it."""
    since_ns: dict[int, int] = {}
    ages_ns = [0]
    for _, event in run.events.select_named("dirtied", "completed"):
        if event.disk != run.data_disk:
            continue
        if event.name == "dirtied":
            since_ns.setdefault(event.block, event.time_ns)
        elif event.write:
            dirtied_ns = since_ns.pop(event.block // BLOCK_SECTORS, event.time_ns)
            ages_ns.append(event.time_ns - dirtied_ns)
    ages_ns += [run.beacon(WRITTEN) - ns for ns in since_ns.values() if ns < run.beacon(WRITTEN)]
    return max(ages_ns) / 1e9


def expect_bounds(runs: Three) -> None:
    """Raise Wrong if a block was dirty far longer than under the classic set of policies."""
    most_s = FAR_TOO_OLD * AGE_S
    came_s = oldest_s(runs.own)
    expect(
        came_s <= most_s,
        f"no block dirty for more than {most_s:.1f} s: reads are fast where nobody writes",
        f"one was dirty for {came_s:.1f} s",
    )


def response(
    runs: Three,
    what: str,
    measure: Callable[[list[float]], float],
    slack: float,
) -> Slide:
    """Return the points of a figure, from a little more than ours down to the classic set's.

    slack: the share by which the figure may exceed ours for all points.
    """
    expect_bounds(runs)
    expect_same_load(runs.own, runs.classic)
    own, ours, classic = (measure(reads_ms(run)) for run in (runs.own, runs.ours, runs.classic))
    return Slide(what, "ms", own, (1 + slack) * ours, classic)


def deviation(ms: list[float]) -> float:
    """Return the mean distance of response times from their mean.

    The reads of two bursts would dominate the standard deviation, and it would change with them.
    """
    middle = mean(ms)
    return mean(abs(one - middle) for one in ms)


def mean_longest(ms: list[float]) -> float:
    """Return the mean of the longest response times."""
    return mean(ms[-max(1, int(LONGEST * len(ms))) :])


MEASURES = {
    "mean": ("mean read response", mean, 0.03),
    "spread": ("mean deviation of read response", deviation, 1.0),
    "worst": (f"mean of the longest {LONGEST:.0%} of read responses", mean_longest, 1.0),
}


def measure(runs: Three, name: str) -> Slide:
    """Return one of the measures."""
    what, measure, slack = MEASURES[name]
    return response(runs, what, measure, slack)
