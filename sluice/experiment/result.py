"""Reads and checks results. A line of results.jsonl is one run, with all that was measured in it.

In the order of the line, with times virtual:

    experiment, arm   names
    variables         of the sweep, and their values
    key               equal for runs that must give equal results
    config            [machine] and [workload] of the file with the variables put in,
                      policies, tunables, and the boot arguments made of them
    kernel, images    hashes of what ran
    compiler          the kernel's, in counted time
    virtual_ms        from the first reading of the counters to the last: the measured commands,
                      and one to two seconds before them, for they begin with a second
    counters          of /dev/stat: by how much each grew, and its unit
    histograms        of /dev/hist, what came into each: buckets [low, high, count]
    jobs              what the programs printed of each job (jobs.py): program, job,
                      numbers; times in ns, the histogram of response times
                      [low, count] with the buckets of kernel/measure/hist.h
    series            the trace, counted in `bins` bins of bin_ms each from the first
                      measured command on. `lost` events of that time had been
                      overwritten in the ring: only from bin from_bin on is it whole
    drive             what the drive did with its time (utilisation.py), if drive_times = 1
    loss              what a power cut would lose, and how old it is (loss.py), if loss_ages = 1

In `series`, `disks` has of each disk that had requests, bin by bin:

    reads, writes     completed
    queue_max, queue_end
                      most requests queued or at the drive, and how many at the end
    read_sector, write_sector
                      of the last completed; null: none was
    read_heat         [bin, low_us, count]: reads by response time; a bucket is a
                      quarter of an octave wide (series.py)

and of the machine:

    flushes           [bin, flushes and ticks that wrote, blocks started by them,
                      most blocks started by one]
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sluice.experiment.records import (
    Configuration,
    DiskBins,
    DiskConfig,
    JobLine,
    MachineConfig,
    RunResult,
    Unchecked,
    Variables,
)

# The required form of a line. A dict has these keys and no others, but ANY
# stands for any further; [x] is a list of x, a tuple a list of just these.
ANY = "*"
DISK = {
    **{name: [int] for name in ("reads", "writes", "queue_max", "queue_end")},
    **{name: [int | None] for name in ("read_sector", "write_sector")},
    "read_heat": [(int, int, int)],
}
RESPONSES = {"response_ns": {ANY: int}, "histogram": [(int, int)]}  # of a job that has them
LINE = {
    "experiment": str,
    "arm": str,
    "variables": {ANY: str | int | float},
    "key": str,
    "config": {
        "args": str,
        "data": dict | None,
        "policies": {ANY: str},
        "tunables": {ANY: int},
        ANY: object,
    },
    "kernel": str,
    "images": {ANY: str},
    "virtual_ms": int,
    "counters": {ANY: (int, str)},
    "histograms": {ANY: {"unit": str, "count": int, "sum": int, "buckets": [(int, int, int)]}},
    "jobs": [{"program": str, "job": str, ANY: object}],
    "series": {
        **dict.fromkeys(("bin_ms", "bins", "lost", "from_bin"), int),
        "disks": {ANY: DISK},
        "flushes": [(int, int, int, int)],
    },
}
OPTIONAL = {"compiler": str, "drive": {ANY: object}, "loss": {ANY: object}}  # may be in a line, too


class BadResult(ValueError):
    """A line that is not a result; the text says which part is wrong."""


def check_dict(value: Unchecked, pattern: Unchecked, at: str) -> None:
    """Raise BadResult unless a dict has the keys of the pattern, with values that match."""
    for name in pattern:
        if name != ANY and name not in value:
            raise BadResult(f'{at} lacks "{name}"')
    for name, part in value.items():
        if name not in pattern and ANY not in pattern:
            raise BadResult(f'{at} has an unknown "{name}"')
        check(part, pattern.get(name, pattern.get(ANY)), f"{at}.{name}")


def check_list(value: list[Any], pattern: list[Any] | tuple[Any, ...], at: str) -> None:
    """Raise BadResult unless the parts of a list match the pattern."""
    if isinstance(pattern, tuple) and len(value) != len(pattern):
        raise BadResult(f"{at} has {len(value)} parts, not {len(pattern)}")
    parts = pattern if isinstance(pattern, tuple) else pattern * len(value)
    for i, (part, wanted) in enumerate(zip(value, parts, strict=True)):
        check(part, wanted, f"{at}[{i}]")


def check(value: Any, pattern: Any, at: str) -> None:
    """Raise BadResult, with the place, if the value does not match the pattern."""
    kind = pattern
    if isinstance(pattern, dict):
        kind = dict
    elif isinstance(pattern, list | tuple):
        kind = list
    if not isinstance(value, kind) or isinstance(value, bool):
        raise BadResult(f"{at} is {json.dumps(value)[:40]}")
    if kind is dict:
        check_dict(value, pattern, at)
    elif kind is list:
        check_list(value, pattern, at)


def check_series(series: Unchecked, at: str) -> None:
    """Raise BadResult unless every list of a disk has one number for each bin."""
    for disk, lists in series["disks"].items():
        for name, values in lists.items():
            if name != "read_heat" and len(values) != series["bins"]:
                where = f"{at}.disks.{disk}.{name}"
                raise BadResult(f"{where} has {len(values)} parts, not {series['bins']}")


def check_line(value: Any, at: str = "result") -> None:
    """Raise BadResult if the value is not a result."""
    here = value if isinstance(value, dict) else {}
    check(value, LINE | {name: part for name, part in OPTIONAL.items() if name in here}, at)
    for i, job in enumerate(value["jobs"]):
        if job.keys() & RESPONSES:
            check(job, RESPONSES | {ANY: object}, f"{at}.jobs[{i}]")
    check_series(value["series"], f"{at}.series")


def read(path: Path) -> list[RunResult]:
    """Return the results in a file. Raises BadResult if one of them is incomplete."""
    if not path.exists():
        raise BadResult(f"{path}: there are no results")
    results: list[RunResult] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            result: RunResult = json.loads(line)
            check_line(result)
        except json.JSONDecodeError as error:
            raise BadResult(f"{path}:{number}: not JSON: {error}") from None
        except BadResult as error:
            raise BadResult(f"{path}:{number}: {error}") from None
        results.append(result)
    return results


def drop_seed(variables: Variables) -> Variables:
    """Return the variables without the seed. Runs that differ only in the seed are trials of one
    system."""
    return {name: value for name, value in variables.items() if name != "seed"}


def measured_disk(result: RunResult) -> str:
    """Return the disk whose times count: the data disk, if the run has one, or else the root
    disk."""
    config = result["config"]
    return "disk1" if config["data"] or "server" in config else "disk0"


def disk_config(config: MachineConfig, name: str) -> DiskConfig:
    """Return a disk's table, `root` or `data`. Raises KeyError if the machine has no data disk."""
    found = config["data"] if name == "data" else config["root"]
    if found is None:
        raise KeyError(name)
    return found


def measured_drive(config: Configuration) -> str:
    """Return the drive model of the measured disk, from a run's configuration."""
    machine = config.get("server", config)
    return (machine["data"] or machine["root"])["drive"]


def is_write_only(jobs: Sequence[JobLine], reads: int, requests: int) -> bool:
    """Return whether a load only writes.

    Its jobs report no reads, and fewer than 1 % of the measured disk's requests are reads. (The
    file system reads some of its own blocks in any case.)
    """
    return bool(jobs) and all(job.get("reads") == 0 for job in jobs) and reads * 100 < requests


def disk_series(result: RunResult) -> DiskBins:
    """Return the series of the measured disk; all zero if it had no request."""
    series = result["series"]
    none = [0] * series["bins"]
    empty: DiskBins = {
        "reads": none,
        "writes": none,
        "queue_max": none,
        "queue_end": none,
        "read_sector": [*none],
        "write_sector": [*none],
        "read_heat": [],
    }
    return series["disks"].get(measured_disk(result), empty)
