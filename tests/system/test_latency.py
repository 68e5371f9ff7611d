"""The program `latency`: it runs a command, and prints the disk's response and service times of
that time, while other programs go on with their requests.

The fixture `tables` has what it printed at six times, for a command that sleeps 20 s, while one
program reads and another writes. Response times include the wait in the queue; service times do
not.
"""

import re

import pytest

from sluice.system import image
from sluice.system.image import Content
from sluice.system.qemu import Config, Disk, Machine

TIMES = 6
SECONDS = 20
SCRIPT = f"""
iogen name=r rw=randread filename=/r bs=4k runtime_s=200 seed=1 -- \\
      name=w rw=randwrite filename=/w bs=4k rate_iops=30 runtime_s=200 seed=2 > /log &
{f"echo =; latency sleep {SECONDS}; " * TIMES}
"""
ROW = re.compile(r"^disk0\.(\w+) +(\d+)" + r" +([\d.]+)" * 5 + r"\s*$", re.M)


@pytest.fixture(scope="module")
def tables(tmp_path_factory) -> list[dict[str, list[float]]]:
    """Return the printed figures of each time, by the row's name: the count, mean, quantiles and
    longest."""
    path = tmp_path_factory.mktemp("latency") / "disk.img"
    image.make_image(path, Content(rc=SCRIPT, options=("--file", "/r=16M", "--file", "/w=8M")))
    config = Config((Disk(path),), args="drive=rz58 update=aipu nbuf=400", lab=True)
    with Machine(config) as machine:
        result = machine.wait()
    assert result.status == 0, result.console
    parts = result.console.replace("\r", "").split("=\n")[1:]
    return [{name: list(map(float, row)) for name, *row in ROW.findall(text)} for text in parts]


def test_it_counts_what_was_done_while_the_command_ran(tables) -> None:
    assert len(tables) == TIMES
    for table in tables:
        reads, service = table["read_response"][0], table["read_service"][0]
        # A request takes the disk about 20 ms. Requests go on while the two rows are printed one
        # after the other, so the rows' counts may differ by one.
        assert SECONDS * 30 < reads < SECONDS * 70
        assert abs(reads - service) <= 1


def test_response_times_are_at_least_service_times(tables) -> None:
    for table in tables:
        for kind in ("read", "write"):
            pairs = zip(table[f"{kind}_response"][1:], table[f"{kind}_service"][1:], strict=True)
            # Each quantile is the middle of a bucket: within 0.4 %.
            assert all(response >= 0.992 * service for response, service in pairs), table


def test_the_mean_lies_among_the_quantiles(tables) -> None:
    for table in tables:
        for kind in ("read", "write"):
            _, mean, median, *_, longest = table[f"{kind}_response"]
            assert 0.5 * median < mean < longest
