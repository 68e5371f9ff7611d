"""Every row of drives/ has the figures of its source, field by field.

drive_rows.toml says them a second time, and for each where it is from, or that it is chosen. A
field that a row does not name is 0, and the table says so, too: a default is a figure like any
other.
"""

import itertools
import subprocess
import tomllib
from pathlib import Path

import pytest
from conftest import MakeImage
from flash_reference import Die, Figures
from kernel_with import kernel_with

from sluice.host.paths import NATIVE, ROOT
from sluice.system.qemu import Config, Disk, run_rc

pytestmark = [pytest.mark.native, pytest.mark.check]

TABLE = tomllib.loads((Path(__file__).parent / "drive_rows.toml").read_text())
NAMES = sorted(path.stem for path in (ROOT / "drives").glob("*.c"))
FLASH = ("flash", "flash_cb", "flash_nv", "flash_planes")


def rows() -> dict[str, dict]:
    """Return what the compiled rows hold."""
    tool = subprocess.run([NATIVE / "drive_rows_tool"], capture_output=True, text=True, check=True)
    return tomllib.loads(tool.stdout)


def flat(row: dict) -> dict:
    """Return a row in which a figure of a nested table has a name with a dot, such as
    seek.curve."""
    found = {}
    for name, figure in row.items():
        inner = flat(figure) if isinstance(figure, dict) else {"": figure}
        found |= {f"{name}.{key}" if key else name: value for key, value in inner.items()}
    return found


def expected_row(name: str) -> dict:
    """Return the row that the table says: a drive's own figures over those of its kind."""
    kind = TABLE[name].get("kind")
    return figures("default") | (figures(kind) if kind else {}) | figures(name)


def figures(name: str) -> dict:
    """Return the figures of a part of the table, by field."""
    own = {field: value for field, value in TABLE[name].items() if field not in ("kind", "from")}
    return flat(own)


KINDS = ("seen", "quoted", "class", "derived", "chosen")  # of sources; see drive_rows.toml


def sources(name: str) -> list[tuple[str, str]]:
    """Return each field of a part of the table for which a source is given, with the source."""
    said = TABLE[name].get("from", {})
    return [(field, source) for fields, source in said.items() for field in fields.split(", ")]


@pytest.mark.parametrize("name", TABLE)
def test_each_figure_has_one_source_or_is_said_to_be_chosen(name: str) -> None:
    """A source is a kind, as a paper or data sheet, and which one; `chosen` needs no more."""
    assert sorted(field for field, _ in sources(name)) == sorted(figures(name))
    for field, source in sources(name):
        kind, _, which = source.partition(": ")
        assert kind in KINDS, f"{name}: {field}"
        assert which or kind == "chosen", f"{name}: {field}: {kind}, and not which"


@pytest.mark.parametrize("name", NAMES)
def test_a_row_has_the_figures_of_its_source(name: str) -> None:
    assert flat(rows()[name]) == expected_row(name)


def test_each_row_is_printed_and_each_drive_of_the_table_is_one() -> None:
    assert sorted(rows()) == NAMES
    assert sorted(TABLE) == sorted([*NAMES, "default", "chips"])


# ---- figures that follow from others, as the rows say ----


@pytest.mark.parametrize(
    ("name", "mb_s"),
    [("hp97560", 10), ("lps540s", 10), ("st31230n", 10), ("rz57", 4), ("rz58", 5), ("st19101", 40),
     ("cheetah4lp", 4.83), *((name, 300) for name in FLASH)],
)  # fmt: skip
def test_a_sector_crosses_the_bus_at_its_rate(name: str, mb_s: float) -> None:
    """mb_s: the rate of the drive's bus in MB/s. bus_ns is the time of a sector of 512 bytes."""
    assert rows()[name]["bus_ns"] == pytest.approx(512 / mb_s * 1000, rel=1e-3)


@pytest.mark.parametrize(
    ("name", "kb"),
    [("lps540s", 2 * 48), ("rz57", 64), ("rz58", 192), ("hp97560", 128), ("st31230n", 480)],
)
def test_the_segments_are_the_cache(name: str, kb: int) -> None:
    """kb: the drive's cache in KB, which its segments share. A KB has two sectors."""
    row = rows()[name]
    assert row["segments"] * row["segment_sectors"] == 2 * kb


def test_the_rz57_seeks_as_the_rz58_times_a_factor() -> None:
    """Only the rz58's curve was published. The rz57's is that curve with times 1.2625 as long."""
    one, other = rows()["rz57"]["seek"]["curve"], rows()["rz58"]["seek"]["curve"]
    assert one[0] == other[0]
    assert one[1:] == pytest.approx([1.2625 * figure for figure in other[1:]], rel=1e-3)


@pytest.mark.parametrize("name", ["lps540s", "rz57", "rz58", "st19101", "st31230n"])
def test_a_skew_covers_a_head_switch_and_a_seek_of_one_cylinder(name: str) -> None:
    """A skew is the number of sectors by which a track begins later than the one before. It is the
    smallest with which a sequential transfer loses no rotation. The time of a seek of one cylinder
    is that of the row's table if the table has it, else that of the curve."""
    row = rows()[name]
    knee, a_ns, b_ns, *_ = row["seek"]["curve"]
    table = dict(map(tuple, row["seek"]["table"]))
    cylinder_ns = table.get(1, a_ns + b_ns)
    assert knee > 1
    for *_, sectors, track_skew, cyl_skew in row["zones"]:
        sector_ns = 60e9 / row["rpm"] / sectors
        fewest = -(-row["head_switch_ns"] // sector_ns)
        assert track_skew == fewest + (name == "rz57")  # has one more, as its row says
        assert (cyl_skew - 1) * sector_ns < cylinder_ns <= cyl_skew * sector_ns


@pytest.mark.parametrize("name", NAMES)
def test_the_zones_have_room_for_the_sectors_and_follow_one_another(name: str) -> None:
    """A zone is its first and last cylinder and the sectors of a track. A cylinder may be left out
    between two zones. A drive without rotating disks has no zones."""
    row = rows()[name]
    zones = row["zones"]
    assert bool(zones) == bool(row["rpm"]) == bool(row["heads"])
    room = sum((last - first + 1) * row["heads"] * n for first, last, n, *_ in zones)
    assert room >= row["sectors"]
    for (_, last, n, *_), (first, _, fewer, *_) in itertools.pairwise(zones):
        assert last < first <= last + 2 and n > fewer


# ---- what a flash row has to spare ----


def usable_spare(name: str, megabytes: int) -> float:
    """Return how many pages may be garbage when a block is cleaned, in percent of the disk's pages.
    They are the pages of all blocks except the one in reserve, minus the disk's own."""
    f = Figures(**{**TABLE["chips"]["flash"], **TABLE[name].get("flash", {}), "cleaning": 1})
    dies = f.channels * f.dies
    pages = -(-(megabytes << 11) // f.page_sectors // dies)
    die = Die(f, list(range(pages)))
    return 100 * ((len(die.blocks) - 1) * f.block / pages - 1)


def test_the_book_says_what_each_row_has_to_spare() -> None:
    """The page has a table of the spare space in percent, by the size of the disk. Rows of drives
    that share a line of it must have the same figures."""
    page = (ROOT / "book/pages/inside/drives.md").read_text()
    sizes = (12, 16, 32, 64, 128, 256, 1024)
    assert "| disk, MB | " + " | ".join(map(str, sizes)) + " |" in page
    for names, title in (
        (FLASH[:3], "`flash`, `flash_cb`, `flash_nv`"),
        (FLASH[3:], "`flash_planes`"),
    ):
        cells = {" | ".join(f"{usable_spare(n, mb):.1f}" for mb in sizes) for n in names}
        assert len(cells) == 1
        assert f"| {title} | {cells.pop()} |" in page


# ---- rows that are wrong ----


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (".dies = 2,", ".dies = 9,", "dies: want 1 or more, and 64 at most on all channels"),
        (".cleaning = CLEAN_GREEDY,", "", "cleaning: want CLEAN_GREEDY or CLEAN_COST_BENEFIT"),
    ],
)
def test_a_kernel_refuses_a_row_that_is_wrong(
    old: str, new: str, why: str, tmp_path: Path, make_image: MakeImage
) -> None:
    chips, row = ((ROOT / f"drives/{file}").read_text() for file in ("chips.h", "flash.c"))
    assert (chips + row).count(old) == 1
    text = row.replace('#include "drives/chips.h"', chips).replace(old, new)
    kernel = kernel_with(tmp_path, {"drives/flash.c": text})
    result = run_rc(Config((Disk(make_image(rc="true")),), kernel=kernel, args="drive=flash"))
    assert f"boot: drive=flash: its row in drives/ is wrong: {why}" in result.console
