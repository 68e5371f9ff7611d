"""The program kbuild, a model of the compilation of a kernel: it has the files of the measured
build, and computes as long.

measured.c has what was measured: each source's sizes (of itself, expanded, as assembly, as object
file) and the times of its passes. kbuild makes files of these sizes, here at SCALE percent. With as
many sources as were measured, each folder of the measured build comes once, whatever the seed.
"""

import re
from pathlib import Path

import pytest
from conftest import MakeImage
from either import run_rc

from sluice.experiment import jobs
from sluice.host.paths import ROOT
from sluice.system import image
from sluice.system.qemu import Config, Disk

MEASURED = (ROOT / "user" / "load" / "kbuild" / "measured.c").read_text()
SCALE = 20  # percent
ARGS = "drive=fixed write=delayed check=1"
RUN = "kbuild dir=/ prepare=1 {words}\nkbuild name=k dir=/ {words}\n"
INSTRUCTION_NS = 32  # on the counted clock, at its usual speed


def table(name: str) -> list[list[int]]:
    """Return the rows of a table of measured.c, without the masks of headers."""
    text = re.search(rf"{name}\[\] = {{\n(.*?)^}};", MEASURED, re.M | re.S)[1]
    rows = re.findall(r"\{([^{}]*)(?:\{|\})", text) or re.findall(r"\d+", text)
    return [[int(n) for n in re.findall(r"\d+", row)] for row in rows if not row.startswith("0x")]


SOURCES = table("measured_sources")  # source, expanded, assembly, object, cpp, cc, as, first
FOLDERS = table("measured_folders")  # sources, archived
PASSES = re.search(r"measured_passes = \{(.*?)\}", MEASURED, re.S)[1]
SYMBOLS, ARCHIVE_US, LINK_US = (int(n) for n in re.findall(r"\d+", PASSES)[3:])


def scaled(size: int) -> int:
    """Return a measured size as kbuild makes it."""
    return max(size * SCALE // 100, 1)


def folder_sources() -> list[list[list[int]]]:
    """Return the sources of each folder."""
    found, at = [], 0
    for count, _ in FOLDERS:
        found.append(SOURCES[at : at + count])
        at += count
    return found


def archives() -> list[int]:
    """Return the size of each archive."""
    pairs = zip(FOLDERS, folder_sources(), strict=True)
    return [sum(scaled(row[3]) for row in rows) for (_, archived), rows in pairs if archived]


def build(make_image: MakeImage, words: str = "", args: str = "") -> tuple[Path, dict]:
    """Return the disk after a build, and what kbuild said. args: further boot arguments."""
    words = f"sources={len(SOURCES)} scale={SCALE} {words}"
    disk = make_image(rc=RUN.format(words=words), size="64M")
    result = run_rc(Config((Disk(disk),), args=f"{ARGS} {args}".rstrip(), lab=True))
    assert result.status == 0, result.console
    [row] = jobs.parse_job_lines(result.console)
    return disk, row


def files(disk: Path) -> dict[str, int]:
    """Return the files of all directories that kbuild makes, with their sizes."""
    found = {}
    for name in ["", "tmp", "include", *(f"folder{i}" for i in range(len(FOLDERS)))]:
        for line in image.debugfs(disk, f"ls -p /{name}").splitlines():
            if line.startswith("/") and (parts := line.split("/"))[6]:
                found[f"{name}/{parts[5]}"] = int(parts[6])
    return found


def sizes(found: dict[str, int], suffix: str) -> list[int]:
    """Return the sizes of the files whose names end so, in order."""
    return sorted(size for path, size in found.items() if path.endswith(suffix))


def test_the_tables_are_read():
    assert len(SOURCES) == sum(count for count, _ in FOLDERS) > 100
    assert {len(row) for row in SOURCES} == {8}
    assert {archived for _, archived in FOLDERS} == {0, 1}


def test_its_files_are_those_of_the_measured_build(make_image: MakeImage):
    """The sources, headers, objects and archives have the measured sizes, scaled. No temporary file
    is left, and the program has no hole. A row of SOURCES has a file's sizes as source, expanded,
    as assembly and as object."""
    disk, row = build(make_image, "seed=3 work=1")
    found = files(disk)
    assert sizes(found, ".c") == sorted(scaled(row[0]) for row in SOURCES)
    assert sizes(found, ".h") == sorted(scaled(size) for [size] in table("measured_headers"))
    objects = sorted(scaled(row[3]) for row in SOURCES)
    assert sizes(found, ".o") == pytest.approx(objects, rel=0.01, abs=10)
    assert sizes(found, ".a") == sorted(archives())
    assert not [path for path in found if path.startswith("tmp/")], "no temporary file is left"
    # Temporary files: the expanded source and the assembly of each, and the archives.
    temporary = sum(scaled(row[1]) + scaled(row[2]) for row in SOURCES) + sum(archives())
    assert row["temporary_bytes"] == temporary
    assert row["object_bytes"] == pytest.approx(sum(objects), rel=0.01)
    # The share of the objects that the linker writes, in ten-thousandths.
    share = (sum(part for [part] in table("measured_sections")) + SYMBOLS) / 10000
    assert found["/program"] == pytest.approx(sum(objects) * share, rel=0.01)
    blocks = re.search(r"Blockcount: (\d+)", image.debugfs(disk, "stat /program"))[1]
    assert int(blocks) * 512 >= found["/program"], "the linker leaves no hole"


def test_a_program_without_debug_symbols_is_smaller_and_has_no_hole(make_image: MakeImage):
    """program=35 leaves 35 % of the linked program, as stripping it would. It has no hole: all its
    bytes have blocks."""
    (whole, row), (stripped, less) = (
        build(make_image, f"seed=3 work=1 program={percent}") for percent in (100, 35)
    )
    full, part = (files(disk)["/program"] for disk in (whole, stripped))  # bytes
    assert part == pytest.approx(0.35 * full, rel=0.01)
    assert row["object_bytes"] == less["object_bytes"], "the objects are the same"
    blocks = re.search(r"Blockcount: (\d+)", image.debugfs(stripped, "stat /program"))[1]
    assert int(blocks) * 512 >= part


def test_freed_blocks_that_stay_dirty_change_no_file(make_image: MakeImage):
    """Temporary files are removed while their blocks are dirty, and other files get the blocks.
    With keep_freed=1 the freed blocks stay dirty and are written. No file's contents differ."""
    (dropped, _), (kept, _) = (
        build(make_image, "seed=3 work=1", f"update=aipu keep_freed={keep}") for keep in (0, 1)
    )
    assert files(dropped) == files(kept)
    for path in files(dropped):
        assert image.debugfs(dropped, f"cat {path}") == image.debugfs(kept, f"cat {path}")
    image.check_image(kept)


def test_the_same_seed_is_the_same_build_and_another_one_has_another_order(make_image: MakeImage):
    """The order of the sources is drawn by the seed, so sizes by name differ with it."""
    disks = [build(make_image, f"seed={seed} work=1")[0] for seed in (1, 1, 2)]
    assert disks[0].read_bytes() == disks[1].read_bytes()
    order = [[files(disk)[f"folder0/{name}"] for name in ("s0.c", "s0.o")] for disk in disks]
    assert order[0] == order[1] != order[2]


def test_calls_are_no_larger_than_the_buffer(make_image: MakeImage):
    """The same bytes are written with a buffer of 8192 and of 512 bytes."""
    (_, large), (_, small) = (build(make_image, f"buffer={n} work=0") for n in (8192, 512))
    assert large["written_bytes"] == small["written_bytes"]
    assert small["written_bytes"] / small["writes"] <= 512
    assert small["writes"] > 4 * large["writes"]
    assert small["read_bytes"] / small["reads"] <= 512


def test_it_computes_so_many_instructions_for_each_us_that_was_measured(make_image: MakeImage):
    """With work=1000 kbuild executes 1000 instructions for each us that the compiler, the archiver
    and the linker were measured to take."""
    (_, idle), (_, busy) = (build(make_image, f"work={work}") for work in (0, 1000))
    us = sum(sum(row[4:7]) for row in SOURCES)  # cpp, cc and as
    us += sum(archives()) * ARCHIVE_US / 10**6  # the bytes of archives, by the time for each MB
    us += sum(scaled(row[3]) for row in SOURCES) * LINK_US / 10**6  # and of objects
    took_ns = busy["elapsed_ns"] - idle["elapsed_ns"]
    assert took_ns == pytest.approx(us * 1000 * INSTRUCTION_NS, rel=0.02)


def test_a_build_that_was_not_prepared_says_so(make_image: MakeImage):
    result = run_rc(Config((Disk(make_image(rc="kbuild dir=/\n")),), args=ARGS, lab=True))
    assert result.status != 0
    assert "kbuild: /folder0/s0.c: was prepare=1 done with the same words?" in result.console
