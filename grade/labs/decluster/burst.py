"""Bursts of writes under LDCL with several settings of its tunables, one after the other.

LDCL is put to use anew for each burst. Its first scan is at that moment, and another follows each
second. The blocks become dirty in the middle between two scans. So what each scan should do depends
on no disk.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from grade.engine.scenario import Run, Scenario, Write
from sluice.system.trace import Event

from .writes import Dirtying, bursts, delayed_writes, dirtyings, scan_by_scan

NS_PER_S = 10**9
COUNTERS = "/data/counters"
COUNTED = "ldcl"


@dataclass(frozen=True)
class Burst:
    """A number of blocks that become dirty at once, with these tunables."""

    age_s: int
    threshold: int
    range_s: int
    blocks: int

    def arguments(self) -> str:
        """Return the boot arguments of this setting."""
        return (
            f"ldcl.age_s={self.age_s} ldcl.threshold={self.threshold} ldcl.range_s={self.range_s}"
        )

    def script(self, number: int) -> str:
        """Return the shell commands that make this burst under LDCL.

        Beacon 2 * number marks when LDCL is put to use, and beacon 2 * number + 1 when it no longer
        is.
        """
        sets = "\n".join(f"policy set {one.replace('=', ' ')}" for one in self.arguments().split())
        return f"""
policy use update none
sync
{sets}
sleep 2
policy use update ldcl
beacon {2 * number}
sleep 0.3
iogen rw=write filename=/data/f{number} bs=4k number_ios={self.blocks} > /dev/null
sleep {self.age_s + 1}
policy use update none
beacon {2 * number + 1}
"""


def store_counters(number: int) -> str:
    """Return a command that stores the policy's counters in a file (counters.counter)."""
    return f"grep {COUNTED} /dev/stat > {COUNTERS}{number}"


def scenario(name: str, made: list[Burst]) -> Scenario:
    """Return the bursts, numbered from 1, with the counters before the first and after the last."""
    lines = [one.script(number) for number, one in enumerate(made, 1)]
    return Scenario(
        name=name,
        script="\n".join([store_counters(1), *lines, store_counters(2)]),
        args="write=delayed update=none nbuf=1000",
        check=False,
        data=tuple((f"/f{number}", f"{4 * one.blocks}K") for number, one in enumerate(made, 1)),
    )


@dataclass(frozen=True)
class Played:
    """The part of a run that shows one burst."""

    run: Run
    burst: Burst
    number: int

    @property
    def interval_ns(self) -> tuple[int, int]:
        """The time under LDCL, in ns."""
        return self.run.beacon(2 * self.number), self.run.beacon(2 * self.number + 1)

    @cached_property
    def scan_writes(self) -> list[list[Write]]:
        """The writes of the burst's blocks by each scan that wrote some."""
        return bursts(self.run.writes_of(f"/f{self.number}", *self.interval_ns))

    @property
    def sizes(self) -> list[int]:
        """The numbers of these writes."""
        return [len(scan) for scan in self.scan_writes]

    @cached_property
    def dirtyings(self) -> list[Dirtying]:
        """The burst's blocks."""
        start_ns, end_ns = self.interval_ns
        found = dirtyings(self.run, f"/f{self.number}", end_ns, end_ns)
        return [one for one in found if one.dirtied_ns >= start_ns]

    @cached_property
    def written_blocks(self) -> list[Event]:
        """All blocks that the scans wrote, on any disk."""
        return delayed_writes(self.run, *self.interval_ns)

    @property
    def scans(self) -> list[list[Event]]:
        """The blocks that the scans wrote since the burst, scan by scan.

        Blocks that were dirty before may be due sooner.
        """
        began_ns = min((one.dirtied_ns for one in self.dirtyings), default=0)
        since = (event for event in self.written_blocks if event.time_ns > began_ns)
        return scan_by_scan((event.time_ns, event) for event in since)

    def raised_s(self, event: Event) -> int:
        """Return by how many seconds the age of a block was raised until it was due."""
        return max(0, self.burst.age_s - event.argument // NS_PER_S)

    def count_scans(self, event: Event) -> int:
        """Return how many scans have examined a block when its write began.

        There is a scan each second, since the block became dirty, or since LDCL was put to use.
        """
        in_use_s = round((event.time_ns - self.interval_ns[0]) / NS_PER_S)
        dirty_s = event.argument // NS_PER_S
        return min(in_use_s, dirty_s) + 1


def list_bursts(run: Run, made: list[Burst]) -> Iterator[Played]:
    """Return an iterator over the bursts of a run."""
    return (Played(run, one, number) for number, one in enumerate(made, 1))
