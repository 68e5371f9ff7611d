"""Schedulers in the kernel: what each promises to reads and writes, in virtual time."""

import pytest
from conftest import MakeImage

from grade.experiment import devtext
from grade.machine import Config, Disk, run_rc

FILES = ("--file", "/w=1M", "--file", "/a=8M", "--file", "/b=8M")
SERVICE_MS = 10  # of a request, at the drive "fixed"
READERS_MS = 4000  # at least, that the readers need

# A writer of 20 blocks a second, each written at once, while there is always a read in
# the queue: the two readers are in the drive and in the queue by turns.
LOAD = """
iogen bs=4k name=w rw=randwrite filename=/w nr=40 rate_iops=20 -- \
 name=a rw=randread filename=/a nr=200 -- name=b rw=randread filename=/b nr=200
sync
echo HIST
cat /dev/hist
"""


@pytest.fixture
def worst_ms(make_image: MakeImage):
    """worst_ms("clook"): under that load, the longest response of a read and of a write."""

    def run(sched: str) -> tuple[float, float]:
        path = make_image(rc=LOAD, options=FILES)
        args = f"sched={sched} drive=fixed nbuf=64 write=async update=none check=1"
        result = run_rc(Config((Disk(path),), args=args, lab=True))
        assert result.status == 0, result.console
        text = result.console.split("HIST\n")[1].partition("\nsluice: ")[0]
        lines = [line for line in text.splitlines() if line.startswith(("hist ", "bucket "))]
        rows = devtext.histograms("\n".join(lines))
        highs = [rows[f"disk0.{kind}_response"]["buckets"][-1][1] for kind in ("read", "write")]
        return highs[0] / 1e6, highs[1] / 1e6

    return run


def test_purp_has_a_read_wait_for_one_write_at_most_and_starves_writes(worst_ms) -> None:
    read_ms, write_ms = worst_ms("purp")
    # The write in service, the other reader's read, its own service.
    assert read_ms < 3.2 * SERVICE_MS
    assert write_ms > READERS_MS


def test_purp_with_a_bound_lets_no_write_wait_much_longer(worst_ms) -> None:
    bound_ms = 500
    _, write_ms = worst_ms(f"purp purp.bound_ms={bound_ms}")
    # One request in service, and the writes due before it.
    assert bound_ms < write_ms < bound_ms + 5 * SERVICE_MS


def test_deadline_serves_a_write_after_its_batches_of_reads(worst_ms) -> None:
    batch = 4
    read_ms, write_ms = worst_ms(f"deadline deadline.fifo_batch={batch}")
    # Two batches of reads may go first, in which the readers take turns, then the batch.
    assert write_ms < (2 * batch + 1 + batch) * 1.1 * SERVICE_MS
    assert read_ms < (batch + 3) * 1.1 * SERVICE_MS


@pytest.mark.parametrize("sched", ["clook", "fcfs", "scan"])
def test_a_sweep_or_an_order_of_arrival_starves_nobody(worst_ms, sched: str) -> None:
    assert max(worst_ms(sched)) < READERS_MS / 10
