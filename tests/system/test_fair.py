"""Nobody waits without bound for a lock or a buffer, in virtual time."""

import re

import pytest

from sluice.system import image
from sluice.system.image import Content
from sluice.system.qemu import Config, Disk, run_rc

SERVICE_MS = 10  # of a command, on the drive `fixed`
DATA = ("--file", "/data=8M", "--file", "/a=4K", "--file", "/b=4K")


def contend(tmp_path, words: str, args: str) -> list[tuple[int, float]]:
    """Return how often each of two processes had the lock, and its longest wait in ms."""
    path = image.make_image(tmp_path / "disk.img", Content(rc=f"contend {words}\n", options=DATA))
    result = run_rc(Config((Disk(path),), args=f"drive=fixed check=1 {args}", lab=True))
    assert result.status == 0, result.console
    image.check_image(path)
    lines = re.findall(r"^([01]) (\d+) (\d+)$", result.console, re.M)
    assert sorted(process for process, *_ in lines) == ["0", "1"], result.console
    return [(int(count), int(ns) / 1e6) for _, count, ns in sorted(lines)]


@pytest.mark.parametrize(
    ("words", "args", "most_services"),
    [
        # Up to 36 commands: a call moves 16 blocks, the other process's call before it as many,
        # and names are looked up first. With 64 buffers little stays in the cache.
        pytest.param("file 20 /data /data", "nbuf=64 write=through", 36, id="a_files_lock"),
        pytest.param("block 5 /a /b", "", 4, id="a_buffer"),
    ],
)
def test_two_that_want_one_thing_take_turns(tmp_path, words, args, most_services):
    """Two processes want the same lock or buffer again and again. Both get it about as often, and
    neither waits longer than most_services commands of the disk take."""
    (n0, longest0), (n1, longest1) = contend(tmp_path, words, args)
    assert abs(n0 - n1) <= max(n0, n1) / 10, (n0, n1)
    assert max(longest0, longest1) <= most_services * SERVICE_MS
    assert min(n0, n1) >= 10
