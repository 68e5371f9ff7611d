"""Histograms of each disk (/dev/hist) and of each process (/dev/prochist): their quantiles are
compared with those of the trace, and their memory is bounded.

Two processes read and write at the same time. The trace has each request's times, so the exact
values are known: how many requests were queued, response times, and service times. Memory is kept
for 64 processes.
"""

import math
import re
from collections import defaultdict

import pytest

from sluice.system import devtext, image, trace
from sluice.system.image import Content
from sluice.system.qemu import Config, Disk, Machine

QUANTILES = (0.01, 0.5, 0.9, 0.99, 0.999, 1.0)
JOBS = """
iogen name=r rw=randread filename=/r bs=4k number_ios=3000 seed=1 -- \
      name=w rw=randrw rwmixread=30 filename=/w bs=4k number_ios=3000 seed=2 > /log
sync
echo =trace=
cat /dev/hist /dev/prochist > /dev/null
cat /dev/stat
echo =hist=
cat /dev/hist
echo =prochist=
cat /dev/prochist
echo =end=
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return the console's parts by name, and the trace up to the reading of the histograms."""
    folder = tmp_path_factory.mktemp("prochist")
    files = ("--file", "/r=8M", "--file", "/w=8M")
    path = image.make_image(folder / "disk.img", Content(rc=JOBS, options=files))
    config = Config(
        (Disk(path),),
        # No request joins another, so each has its own record of being issued.
        args="drive=rz58 update=aipu write=async nbuf=400 cluster_kb=0 trace_k=256",
        lab=True,
    )
    with Machine(config) as machine:
        result = machine.wait()
        assert result.status == 0, result.console
        parts = dict(re.findall(r"^=(\w+)=\n(.*?)(?=^=\w+=$)", result.console, re.M | re.S))
        phys = int(re.search(r"trace.phys (\d+)", parts["trace"])[1])
        lost, events = trace.read_trace(machine.guest.path, phys)
    assert lost == 0
    events = list(events)
    read = max(i for i, event in enumerate(events) if event.name == "counted")
    return parts, events[:read]


def exact_values(events) -> dict[int | None, dict[str, list[int]]]:
    """Return the values behind each histogram, by process (None: all) and name."""
    values = defaultdict(lambda: defaultdict(list))
    issued: dict[int, int] = {}
    queued = 0

    def add(pid: int, name: str, value: int) -> None:
        values[pid][name].append(value)
        values[None][name].append(value)

    for event in events:
        kind = "write" if event.write else "read"
        if event.name == "queued":
            add(event.pid, "queued", queued)
            queued += 1
        elif event.name == "issued":
            queued -= 1
            issued[event.block] = event.time_ns
        elif event.name == "completed":
            add(event.pid, f"{kind}_response", event.argument)
            add(event.pid, f"{kind}_service", event.time_ns - issued.pop(event.block))
    return values


def bucket_of(histogram: dict, quantile: float) -> tuple[int, int]:
    """Return the bucket in which the quantile lies: from, to (exclusive)."""
    rank, seen = math.ceil(quantile * histogram["count"]), 0
    for low, high, count in histogram["buckets"]:
        seen += count
        if seen >= rank:
            return low, high
    raise AssertionError("the buckets hold less than the count")


def check_quantiles(values: list[int], histogram: dict) -> None:
    """Fail if a quantile or the sum of a histogram is more than 1 % off that of the values."""
    assert histogram["count"] == len(values)
    assert histogram["sum"] == pytest.approx(sum(values), rel=0.01)
    if not values:
        return
    values = sorted(values)
    for quantile in QUANTILES:
        low, high = bucket_of(histogram, quantile)
        exact = values[math.ceil(quantile * len(values)) - 1]
        assert (low + high - 1) / 2 == pytest.approx(exact, rel=0.01), quantile


NAMES = ("queued", "read_response", "read_service", "write_response", "write_service")


def test_quantiles_of_two_processes_at_once_are_within_1_percent_of_the_traces(run):
    """check_quantiles holds each quantile of /dev/prochist against the same one of the trace."""
    parts, events = run
    rows = devtext.parse_processes(parts["prochist"])
    iogens = [pid for pid, (name, _) in rows.items() if name == "iogen"]
    jobs = iogens[-2:]  # the first is their parent
    exact = exact_values(events)
    for pid in jobs:
        for name in NAMES:
            check_quantiles(exact[pid][name], rows[pid][1][name])
    reads = [rows[pid][1]["read_response"]["count"] for pid in jobs]
    writes = [rows[pid][1]["write_response"]["count"] for pid in jobs]
    # The jobs did enough: one of them reads only, and the other one also writes.
    assert min(reads) > 400 and max(reads) > 2000 and max(writes) > 1000


def test_the_disks_histograms_are_as_exact_and_the_sum_of_the_processes(run):
    """The events of all processes together are those of None in exact_values()."""
    parts, events = run
    rows = devtext.parse_histograms(parts["hist"])
    by_process = devtext.parse_processes(parts["prochist"]).values()
    exact = exact_values(events)[None]
    for name in NAMES:
        disk = rows[f"disk0.{name}"]
        check_quantiles(exact[name], disk)
        assert disk["count"] == sum(found[name]["count"] for _, found in by_process)
        assert disk["sum"] == sum(found[name]["sum"] for _, found in by_process)


def test_memory_is_bounded_the_longest_unused_give_way_and_are_counted(run_script):
    """100 processes read the disk, one after the other. 64 of them have a row, nearly all of the
    last ones, and the others are counted as lost, with up to 20 processes of the script itself."""
    script = """
set -e
seq 100 | xargs -n 1 sh -c 'dd if=/dev/disk0 of=/dev/null count=1' 2> /dev/null
grep prochist.lost /dev/stat
cat /dev/prochist
echo =end=
"""
    console = run_script(script).console
    lost = int(re.search(r"^prochist.lost (\d+)", console, re.M)[1])
    rows = devtext.parse_processes(re.search(r"^process .*(?=^=end=)", console, re.M | re.S)[0])
    assert len(rows) == 64
    assert 100 - 64 <= lost <= 120 - 64
    assert sum(name == "dd" for name, _ in rows.values()) >= 60
