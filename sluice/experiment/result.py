"""A line of results.jsonl: one run, what it was and all that was measured in it.

In the order of the line, with times virtual:

    experiment, arm   names
    variables         of the sweep, and their values
    key               equal for runs that must give equal results
    config            [machine] and [workload] of the file with the variables put in,
                      policies, tunables, and the boot arguments made of them
    kernel, images    hashes of what ran
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
from pathlib import Path

# What a line must look like. A dict has these keys and no others, but ANY
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


class BadResult(ValueError):
    """A line that is not a result; the text says which part is wrong."""


def check_dict(value: dict, pattern: dict, at: str) -> None:
    for name in pattern:
        if name != ANY and name not in value:
            raise BadResult(f'{at} lacks "{name}"')
    for name, part in value.items():
        if name not in pattern and ANY not in pattern:
            raise BadResult(f'{at} has an unknown "{name}"')
        check(part, pattern.get(name, pattern.get(ANY)), f"{at}.{name}")


def check_list(value: list, pattern: list | tuple, at: str) -> None:
    if isinstance(pattern, tuple) and len(value) != len(pattern):
        raise BadResult(f"{at} has {len(value)} parts, not {len(pattern)}")
    parts = pattern if isinstance(pattern, tuple) else pattern * len(value)
    for i, (part, wanted) in enumerate(zip(value, parts, strict=True)):
        check(part, wanted, f"{at}[{i}]")


def check(value: object, pattern: object, at: str) -> None:
    """Raise BadResult, with the place, if the value does not match the pattern."""
    kind = {dict: dict, list: list, tuple: list}.get(type(pattern), pattern)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise BadResult(f"{at} is {json.dumps(value)[:40]}")
    if kind is dict:
        check_dict(value, pattern, at)
    elif kind is list:
        check_list(value, pattern, at)


def check_series(series: dict, at: str) -> None:
    """Raise BadResult unless each list with a number for each bin has as many as there are bins."""
    for disk, lists in series["disks"].items():
        for name, values in lists.items():
            if name != "read_heat" and len(values) != series["bins"]:
                where = f"{at}.disks.{disk}.{name}"
                raise BadResult(f"{where} has {len(values)} parts, not {series['bins']}")


def check_line(value: object, at: str = "result") -> None:
    """Raise BadResult if this is not a result."""
    told = isinstance(value, dict) and "drive" in value
    check(value, LINE | ({"drive": {ANY: object}} if told else {}), at)
    for i, job in enumerate(value["jobs"]):
        if job.keys() & RESPONSES:
            check(job, RESPONSES | {ANY: object}, f"{at}.jobs[{i}]")
    check_series(value["series"], f"{at}.series")


def read(path: Path) -> list[dict]:
    """The results in a file. Raises BadResult unless all are whole."""
    if not path.exists():
        raise BadResult(f"{path}: there are no results")
    results = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            result = json.loads(line)
            check_line(result)
        except json.JSONDecodeError as error:
            raise BadResult(f"{path}:{number}: not JSON: {error}") from None
        except BadResult as error:
            raise BadResult(f"{path}:{number}: {error}") from None
        results.append(result)
    return results


def setting(variables: dict[str, object]) -> dict[str, object]:
    """The variables without the seed: runs that differ only in it are trials of one system."""
    return {name: value for name, value in variables.items() if name != "seed"}


def measured_disk(result: dict) -> str:
    """The disk that a run is about: the data disk, if it has one, else the root disk."""
    return "disk1" if result["config"]["data"] else "disk0"


def measured_drive(config: dict) -> str:
    """The model of that disk's drive, in a run's configuration."""
    return (config["data"] or config["root"])["drive"]


def only_writes(jobs: list[dict], reads: int, requests: int) -> bool:
    """Whether a load only writes: its jobs say so, and hardly any of the requests of the disk that
    is measured are reads. A few are in any case, of the file system's own blocks."""
    return bool(jobs) and all(job.get("reads") == 0 for job in jobs) and reads * 100 < requests


def disk_series(result: dict) -> dict:
    """The series of the measured disk; all are empty if it had no request."""
    series = result["series"]
    empty = {name: [0] * series["bins"] for name in DISK} | {"read_heat": []}
    return series["disks"].get(measured_disk(result), empty)
