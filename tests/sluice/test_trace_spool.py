"""Formats in which the end of a file must be known first are read in memory that does not grow with
the trace (sluice/trace/spool.py).

Such a reader writes requests to a temporary file in pieces. In oracleGeneral, a trace of uses of
objects, an object's space is that of its largest use; in an export, the disk to replay is the last
one that the file names.
"""

import io
import tracemalloc
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from sluice.trace import spool, stream
from sluice.trace.formats import export, oraclegeneral
from sluice.trace.stream import LeftOut

pytestmark = pytest.mark.native
SMALL = 512  # requests of a piece


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a small trace read in many pieces."""
    monkeypatch.setattr(stream, "PIECE", SMALL)
    monkeypatch.setattr(spool, "PIECE", SMALL)


def random_uses(count: int, disorder: int, seed: int = 3) -> np.ndarray:
    """Return uses of 200 objects in oracleGeneral's records, some without bytes. disorder: by how
    many seconds times may be out of order."""
    draw = np.random.default_rng(seed)
    uses = np.zeros(count, oraclegeneral.RECORD)
    uses["time_s"] = np.sort(draw.integers(0, 40, count)) + draw.integers(0, disorder + 1, count)
    uses["object"] = draw.integers(0, 200, count).astype("<u8") << np.uint64(50)
    uses["bytes"] = draw.choice([0, 100, 4096, 9000], count)
    return uses


def oracle_model(uses: np.ndarray) -> list[tuple[int, int, int, int]]:
    """Return the requests of oracleGeneral's records in the order of time, one by one.

    A record is a use of an object: second, name, bytes, next use. Objects lie one behind another on
    the disk, each with room for its longest use in whole blocks. Uses of one second are spread
    evenly over it. Uses of no bytes are left out.
    """
    kept = sorted((u for u in uses.tolist() if u[2]), key=lambda use: use[0])
    longest: dict[int, int] = {}
    for _, name, size, _ in kept:
        longest[name] = max(longest.get(name, 0), size)
    starts, at = {}, 0
    for name, size in longest.items():  # in the order of the first uses
        starts[name] = at
        at += -(-size // 4096) * 4096  # rounded up to whole blocks
    in_second = Counter(second for second, *_ in kept)
    done: Counter[int] = Counter()  # uses of each second so far
    found = []
    for second, name, size, _ in kept:
        time_ns = second * 10**9 + done[second] * 10**9 // in_second[second]
        done[second] += 1
        found.append((time_ns, starts[name], size, 0))
    return found


@pytest.mark.parametrize("disorder", [0, 3, 40])
def test_oraclegeneral_in_pieces_is_that_of_a_model(small_pieces: None, disorder: int) -> None:
    """There are 5000 uses, so more than five pieces of 512."""
    uses = random_uses(5000, disorder)
    left = LeftOut()
    pieces = list(oraclegeneral.read(Path("t"), io.BytesIO(uses.tobytes()), left))
    assert len(pieces) > 5
    rows = np.concatenate(pieces)
    rows = rows[np.argsort(rows["time_ns"], kind="stable")]
    assert rows.tolist() == oracle_model(uses)
    assert left.counts == {stream.NO_DATA: int((uses["bytes"] == 0).sum())}


def export_text(count: int) -> bytes:
    """Return an export with requests to two disks; the last disk comes late."""
    lines = [export.HEAD]
    for i in range(count):
        disk = int(i > count // 2 and i % 3 > 0)
        lines.append(f"{i},disk{disk},{i},8,r,7,a,{i * 1000},2,3,0.1,0.1,0,0")
    return "\n".join(lines).encode()


def test_an_export_in_pieces_has_the_last_disks_requests(small_pieces: None) -> None:
    """Line i is a request at sector i; each third one is to disk0. disk1 first comes after half of
    the lines, and then only its requests are kept."""
    left = LeftOut()
    rows = np.concatenate(list(export.read(Path("t"), io.BytesIO(export_text(3000)), left)))
    wanted = [i for i in range(3000) if i > 1500 and i % 3 > 0]
    assert (rows["offset"] // 512).tolist() == wanted
    assert left.counts == {export.OTHER_DISKS: 3000 - len(wanted)}
    assert left.kept == len(wanted)


@pytest.mark.parametrize("name", ["oraclegeneral", "export"])
def test_memory_does_not_grow_with_the_trace(small_pieces: None, name: str) -> None:
    """Four times as many requests take less than 1.2 times the memory."""
    peaks = []
    for count in (5_000, 20_000):
        data = random_uses(count, 3).tobytes() if name == "oraclegeneral" else export_text(count)
        module = oraclegeneral if name == "oraclegeneral" else export
        file = io.BytesIO(data)
        tracemalloc.start()
        assert sum(map(len, module.read(Path("t"), file, LeftOut()))) > count // 4
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]
