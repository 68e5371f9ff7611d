"""`make animation`: an animated PNG whose curves are what the trace says.

A PNG is a list of chunks, each with a name: IHDR is the form, IDAT the data, IEND the end; acTL,
fcTL and fdAT are those of an animation.
"""

import struct
import zlib
from pathlib import Path

import pytest
from small_run import explainers_of

from sluice.cli.verbs.theatre import build_scenes
from sluice.experiment.schema import BadExperiment
from sluice.report.png import SIGNATURE, encode_chunk, read_chunks
from sluice.theatre import motion
from sluice.theatre.apng import join_frames
from sluice.theatre.scene import build_scene

pytestmark = pytest.mark.xdist_group("theatre")  # they share machines


def plain_png(width: int, grey: int) -> bytes:
    """Return a PNG of one line, all of one grey, whose data is in two chunks."""
    form = struct.pack(">IIBBBBB", width, 1, 8, 0, 0, 0, 0)  # 8 bits a pixel, kind 0: grey
    data = zlib.compress(bytes([0] + [grey] * width))
    halves = encode_chunk(b"IDAT", data[:5]) + encode_chunk(b"IDAT", data[5:])
    return SIGNATURE + encode_chunk(b"IHDR", form) + halves + encode_chunk(b"IEND", b"")


@pytest.mark.native
def test_chunks_are_as_the_specification_has_them() -> None:
    """The length of the data, the name, the data, the CRC of name and data. The CRC of an empty
    IEND is in every PNG."""
    assert encode_chunk(b"IEND", b"") == bytes.fromhex("00000000 49454e44 ae426082")
    assert encode_chunk(b"IDAT", b"12345") == b"\0\0\0\5IDAT12345" + struct.pack(">I", 0x415B94C8)
    assert list(read_chunks(plain_png(3, 1)))[-1] == (b"IEND", b"")


@pytest.mark.native
def test_an_animation_has_its_pictures_in_order_with_their_times() -> None:
    """Three pictures of one line of 3 pixels, shown for 100, 100 and 900 ms. acTL is the
    animation's head; a fcTL goes before each picture, whose data are IDAT or, from the second
    picture on, fdAT."""
    out = list(read_chunks(join_frames([plain_png(3, n) for n in (1, 2, 3)], [100, 100, 900])))
    assert [name for name, _ in out] == [
        *(b"IHDR", b"acTL", b"fcTL", b"IDAT"),
        *(b"fcTL", b"fdAT", b"fcTL", b"fdAT", b"IEND"),
    ]
    assert out[0] == next(read_chunks(plain_png(3, 1)))
    assert struct.unpack(">II", out[1][1]) == (3, 0)  # pictures; 0: repeated for ever
    controls = [data for name, data in out if name == b"fcTL"]
    # width, height, and the place of the upper left corner
    assert {struct.unpack_from(">IIII", data, 4) for data in controls} == {(3, 1, 0, 0)}
    # the time that a picture is shown, as a fraction of a second
    assert [struct.unpack_from(">HH", data, 20) for data in controls] == [
        *((100, 1000), (100, 1000), (900, 1000)),
    ]
    # fcTL and fdAT begin with numbers that count both
    numbers = [data[:4] for name, data in out if name in (b"fcTL", b"fdAT")]
    assert [struct.unpack(">I", number)[0] for number in numbers] == list(range(5))
    lines = [zlib.decompress(data[4:] if name == b"fdAT" else data) for name, data in out[3:-1:2]]
    assert lines == [bytes([0, n, n, n]) for n in (1, 2, 3)]  # 0: the line has no filter


@pytest.mark.native
@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        (99, 1, r"^--run=99: there is no such run"),
        (1, 99, r"^--second=99: there is"),
        (1, 0, r"^--second=0: "),
    ],
)
def test_a_run_that_does_not_exist_is_named_by_the_option_that_named_it(
    first: int, second: int, why: str
) -> None:
    """The error comes before any run is made: no run could be stored in the folder /none."""
    with pytest.raises(BadExperiment, match=why):
        build_scenes("mogul-4.1-fast", "quick", first, second, Path("/none"))


@pytest.mark.native
def test_pictures_of_two_sizes_are_refused() -> None:
    """A picture of another width, and one that is no PNG."""
    with pytest.raises(ValueError, match="picture 1 has another size"):
        join_frames([plain_png(3, 1), plain_png(4, 1)], [100, 100])
    with pytest.raises(ValueError, match="no PNG"):
        join_frames([b"GIF89a"], [100])


def test_the_curves_are_what_the_trace_says(tmp_path: Path) -> None:
    """Three curves at 51 moments: the longest time in s that a read has been waiting, requests in
    the queue, and dirty blocks. PU's longest wait is more than 75 writes of 11 ms, AIPU's less than
    0.5 s."""
    highest = []
    for explainer in explainers_of(tmp_path):
        shown = build_scene(explainer, "small", "full")
        made = explainer.kept.recording
        times = [shown["length_ns"] * i // 50 for i in range(51)]
        waits, waiting, dirty = motion.lane_curves(shown, times)
        requests = [r for c in explainer.commands[1] for r in c.requests]
        for i, t in enumerate(times):
            at_ns = made.start_ns + t
            assert waiting[i] == sum(r.queued_ns <= at_ns < r.issued_ns for r in requests)
            reads = [r for r in requests if not r.write and r.queued_ns <= at_ns < r.completed_ns]
            longest = max((at_ns - r.queued_ns for r in reads), default=0)
            assert waits[i] == pytest.approx(longest / 1e9)
            blocks = set()
            for e in made.events:
                if e.time_ns <= at_ns and e.name == "dirtied":
                    blocks.add((e.disk, e.block))
                elif e.time_ns <= at_ns and e.name in ("writing", "cancelled", "evicted"):
                    blocks.discard((e.disk, e.block))
            assert dirty[i] == len(blocks)
        fine = [shown["length_ns"] * i // 2000 for i in range(2001)]
        highest.append(max(motion.lane_curves(shown, fine)[0]))
    assert highest[0] > 75 * 0.011 > 0.5 > highest[1]


def test_it_is_drawn_as_an_animated_png(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three pictures, all different, of 50 KB at most each."""
    monkeypatch.setattr(motion, "FRAMES", 3)
    scenes = [build_scene(explainer, "small", "full") for explainer in explainers_of(tmp_path)]
    said: list[str] = []
    made = motion.build_animation(scenes, said.append)
    assert said == [f"picture {n} of 3" for n in (1, 2, 3)]
    first, *others = (data for name, data in read_chunks(made) if name in (b"IDAT", b"fdAT"))
    packed = [first, *(data[4:] for data in others)]  # fdAT begins with a number of 4 bytes
    assert len({zlib.decompress(data) for data in packed}) == 3
    width, height = struct.unpack(">II", dict(read_chunks(made))[b"IHDR"][:8])
    assert 1000 < width < 1400
    assert 500 < height < 800
    assert len(made) < 50_000 * 3
