"""Write JSON in the layout of `fio --output-format=json+` (fio 3.33), from the disks' requests.

- A job is the requests of one process to one disk, not its system calls. Reads that the cache
  answered are not in a job. A delayed write belongs to the job of the process that flushed the
  block.
- slat is the time in the queue, clat the service time at the drive, and lat the response time,
  which is the sum of both.
- A job's options are derived from its requests: rw is random unless most requests begin where the
  previous request ended, bs is the most frequent size, and iodepth is the largest number of
  requests in progress at once.
- fio-plot looks for rw, iodepth and numjobs of a file's first job and adds up all of its jobs. So
  each job has a file of its own, too, in a folder that fio-plot reads.
- Figures that Sluice does not have are left out (page faults), or 0 if fio-plot needs them
  (processor time).
- Bandwidth and IOPS are sampled every 500 ms of virtual time, as fio does.
"""

import json
import re
import shlex
from collections import Counter
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

from sluice.experiment.metrics import percentile_rank
from sluice.export.recording import Recording
from sluice.system.requests import Request

ABOUT = "JSON as fio's json+, a job for each process and disk"
VERSION = "fio-3.33"  # the layout is that of this version
SECTOR_BYTES = 512
FioTable = dict[str, Any]  # a table of fio's JSON: numbers, texts, and further tables
KIB = 1024
JOBS = "fio-jobs"  # the folder with a file for each job
SAMPLE_NS = 500 * 10**6
PERCENTILES = (1, 5, *range(10, 100, 10), 95, 99, 99.5, 99.9, 99.95, 99.99)
DIRECTIONS = ("read", "write", "trim")
# The upper ends of the classes of latency, in each unit.
CLASSES = {
    "latency_ns": (1, (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000)),
    "latency_us": (10**3, (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000)),
    "latency_ms": (10**6, (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000)),
}


def percentile(ordered: list[int], percent: float) -> int:
    """Return a percentile of values in order."""
    return ordered[percentile_rank(percent, len(ordered)) - 1]


def bin_counts(values: list[int]) -> dict[str, int]:
    """Return the number of values in each of fio's bins, by the bin's middle. There are 64 bins to
    a power of two."""
    found: Counter[int] = Counter()
    for value in values:
        shift = max(value.bit_length() - 7, 0)  # a bin has 2^shift values
        low = value >> shift << shift
        middle = low + (1 << shift >> 1)
        found[middle] += 1
    return {str(middle): n for middle, n in sorted(found.items())}


def latency_table(values: list[int], whole: bool) -> FioTable:
    """Return the table of a distribution. whole: with percentiles and bins."""
    if not values:
        return {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0}
    ordered = sorted(values)
    row: FioTable = {
        "min": ordered[0],
        "max": ordered[-1],
        "mean": fmean(ordered),
        "stddev": pstdev(ordered),
        "N": len(ordered),
    }
    if whole:
        row["percentile"] = {f"{p:.6f}": percentile(ordered, p) for p in PERCENTILES}
        row["bins"] = bin_counts(ordered)
    return row


def samples(requests: list[Request], recording: Recording) -> list[tuple[float, float]]:
    """Return KiB per second and requests per second in each half second of the measured part."""
    ios, sectors = Counter[int](), Counter[int]()
    for r in requests:
        at = (r.completed_ns - recording.start_ns) // SAMPLE_NS
        ios[at] += 1
        sectors[at] += r.sectors
    whole = (recording.end_ns - recording.start_ns) // SAMPLE_NS
    a_second = 10**9 / SAMPLE_NS
    return [(sectors[i] * SECTOR_BYTES / KIB * a_second, ios[i] * a_second) for i in range(whole)]


def rate_figures(name: str, values: list[float]) -> dict[str, float]:
    """Return fio's figures about samples."""
    shown = values or [0]
    return {
        f"{name}_min": int(min(shown)),
        f"{name}_max": int(max(shown)),
        f"{name}_mean": fmean(shown),
        f"{name}_{'dev' if name == 'bw' else 'stddev'}": pstdev(shown),
        f"{name}_samples": len(values),
    }


def requests_in_direction(requests: list[Request], word: str) -> list[Request]:
    """Return the requests in one direction."""
    return [r for r in requests if r.direction == word]


def direction_table(requests: list[Request], disk: list[Request], recording: Recording) -> FioTable:
    """Return the table of one direction of a job. disk: all requests of the job's disk in this
    direction."""
    runtime_s = (recording.end_ns - recording.start_ns) / 1e9 if requests else 0
    count = sum(r.sectors for r in requests) * SECTOR_BYTES
    bytes_s = count / runtime_s if requests else 0
    sampled = samples(requests, recording) if requests else []
    share = sum(r.sectors for r in requests) / sum(r.sectors for r in disk) if requests else 0
    return {
        "io_bytes": count,
        "io_kbytes": count // KIB,
        "bw_bytes": int(bytes_s),
        "bw": int(bytes_s / KIB),
        "iops": len(requests) / runtime_s if requests else 0.0,
        "runtime": int(runtime_s * 1000),
        "total_ios": len(requests),
        "short_ios": 0,
        "drop_ios": 0,
        "slat_ns": latency_table([r.issued_ns - r.queued_ns for r in requests], whole=False),
        "clat_ns": latency_table([r.service_ns for r in requests], whole=True),
        "lat_ns": latency_table([r.response_ns for r in requests], whole=True),
        **rate_figures("bw", [bw for bw, _ in sampled]),
        "bw_agg": 100.0 * share,
        **rate_figures("iops", [iops for _, iops in sampled]),
    }


def latency_classes(values: list[int]) -> dict[str, dict[str, float]]:
    """Return the percentage of the values in each class of latency."""
    table: dict[str, dict[str, float]] = {}
    below = 0
    for name, (unit, ends) in CLASSES.items():
        table[name] = {}
        for end in ends:
            inside = sum(below <= value < end * unit for value in values)
            table[name][str(end)] = 100 * inside / len(values)
            below = end * unit
    table["latency_ms"][">=2000"] = 100 * sum(value >= below for value in values) / len(values)
    return table


def max_outstanding(requests: list[Request]) -> int:
    """Return the largest number of requests that were queued or at the drive at one moment."""
    changes = [(r.queued_ns, 1) for r in requests] + [(r.completed_ns, -1) for r in requests]
    most = now = 0
    for _, change in sorted(changes):  # at one time, those that end come first
        now += change
        most = max(most, now)
    return most


def count_sequential(requests: list[Request]) -> int:
    """Return how many requests begin where the previous one of their direction ended."""
    ends: dict[bool, int] = {}
    count = 0
    for r in requests:
        count += ends.get(r.write) == r.sector
        ends[r.write] = r.sector + r.sectors
    return count


def job_options(requests: list[Request]) -> dict[str, str]:
    """Return the options with which fio would make requests like a job's."""
    words = sorted({r.direction for r in requests})
    rw = words[0] if len(words) == 1 else "rw"
    is_random = count_sequential(requests) * 2 < len(requests)
    ((sectors, _),) = Counter(r.sectors for r in requests).most_common(1)
    return {
        "rw": f"rand{rw}" if is_random else rw,
        "bs": str(sectors * SECTOR_BYTES),
        "iodepth": str(max_outstanding(requests)),
        "numjobs": "1",
    }


def job_table(pid: int, disk: int, recording: Recording) -> FioTable:
    """Return the table of a job: the requests of a process to a disk."""
    name = recording.process(pid)
    of_disk = [r for r in recording.requests if r.disk == disk]
    own = [r for r in of_disk if r.pid == pid]
    elapsed_ms = (recording.end_ns - recording.start_ns) // 10**6
    row = {
        "jobname": f"{name} on disk{disk}",
        "groupid": 0,
        "job_start": recording.start_ns // 10**6,
        "error": 5 if any(r.failed for r in own) else 0,
        "eta": 0,
        "elapsed": elapsed_ms // 1000,
        "job options": {"name": name, "filename": recording.disk(disk), **job_options(own)},
    }
    for word in DIRECTIONS:
        row[word] = direction_table(
            requests_in_direction(own, word), requests_in_direction(of_disk, word), recording
        )
    row["sync"] = {"total_ios": 0, "lat_ns": latency_table([], whole=False)}
    row["job_runtime"] = elapsed_ms
    row["usr_cpu"] = row["sys_cpu"] = 0.0
    return row | latency_classes([r.response_ns for r in own])


def busy_ns(requests: list[Request]) -> int:
    """Return the time, in ns, in which there was at least one request."""
    busy, until = 0, 0  # until: when the last request so far was completed
    for r in sorted(requests, key=lambda r: r.queued_ns):
        busy += max(r.completed_ns - max(r.queued_ns, until), 0)
        until = max(until, r.completed_ns)
    return busy


def disk_util(disk: int, recording: Recording) -> FioTable:
    """Return fio's table about a disk's utilisation."""
    both = [r for r in recording.requests if r.disk == disk]
    row: FioTable = {"name": f"disk{disk}"}
    for name in ("read", "write"):
        requests = requests_in_direction(both, name)
        row[f"{name}_ios"] = len({r.command for r in requests})
        row[f"{name}_merges"] = len(requests) - len({r.command for r in requests})
        row[f"{name}_ticks"] = sum(r.response_ns for r in requests) // 10**6
    row["in_queue"] = row["read_ticks"] + row["write_ticks"]
    row["util"] = 100 * busy_ns(both) / (recording.end_ns - recording.start_ns)
    return row


def write(recording: Recording, folder: Path) -> list[str]:
    """Write one file with all jobs and disks, and a file for each job. Returns commands that open
    them."""
    run = recording.run
    pairs = sorted({(r.pid, r.disk) for r in recording.requests})
    value = {
        "fio version": VERSION,
        "timestamp": recording.end_ns // 10**9,
        "timestamp_ms": recording.end_ns // 10**6,
        "time": f"{recording.end_ns / 1e9:.3f} s of virtual time since power-on",
        "global options": {"name": f"{run.experiment} {run.name}", "args": run.config["args"]},
        "jobs": [job_table(pid, disk, recording) for pid, disk in pairs],
        "disk_util": [disk_util(disk, recording) for disk in sorted({d for _, d in pairs})],
    }
    path = folder / "fio.json"
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
    most = write_jobs(value, folder / JOBS)["job options"]
    plot = ["fio-plot", "-i", JOBS, "-T", run.experiment, "-l", "-r", most["rw"]]
    plot += ["-d", most["iodepth"], "-n", most["numjobs"]]
    plot += ["-f", "read", "write"] * most["rw"].endswith("rw")
    return [f"fio_jsonplus_clat2csv {path.name} clat.csv", shlex.join(plot)]


def write_jobs(value: FioTable, folder: Path) -> FioTable:
    """Write a file for each job. Returns the job with the most requests."""
    folder.mkdir()
    for number, one in enumerate(value["jobs"], 1):
        name = re.sub(r"[^\w.-]+", "-", one["jobname"])
        text = json.dumps(value | {"jobs": [one]}, indent=2)
        (folder / f"{number}-{name}.json").write_text(text + "\n", encoding="utf-8")
    jobs: list[FioTable] = value["jobs"]
    return max(jobs, key=lambda one: sum(one[d]["total_ios"] for d in DIRECTIONS))
