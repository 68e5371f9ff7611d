"""Submissions of a student of ill will: archives, names, texts that the compiler reads otherwise.

Each is refused or taken for what it is, and nobody else's results suffer. The submissions are for
the lab `elevator`, which wants one file (FILE). The functions that make a hostile archive are named
for what is wrong with it; each writes into a folder and returns the archive's path. Limits such as
MOST_KEPT are those of grade/trust/.
"""

import csv
import gzip
import io
import lzma
import os
import struct
import subprocess
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest
from forms import expect_all_forms

from grade.code.objects import PREFIX
from grade.course import classroom, classtable
from grade.definition.lab import Edit, find_lab
from grade.engine import answers, evidence, formats, grading, tree, workbench
from grade.engine.assertions import Wrong
from grade.engine.formats import table
from grade.engine.record import Outcome, Record
from grade.engine.scenario import Scenario
from grade.trust import archive, compiler, likeness, sourcefile, submission
from grade.trust.submission import Refused
from grade.trust.untrusted_text import format_cell, make_printable
from sluice.system.qemu import Config

LAB = find_lab("elevator")
FILE = LAB.files[0]
MIB = 1 << 20

# ---- archives ----


def take(path: Path) -> dict[str, str]:
    """Return the lab's files in a submission, or raise Refused."""
    return submission.take_files(path, LAB.files, lambda _: set())


def write_tar(path: Path, *names: str, size: int = 1) -> Path:
    """Write an archive whose members have these names and `size` zeros each."""
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = size
            archive.addfile(info, io.BytesIO(bytes(size)))
    return path


def write_zip(path: Path, way: int = zipfile.ZIP_DEFLATED, text: str = "x" * 1000) -> Path:
    """Write an archive that has the lab's file, compressed in this way."""
    with zipfile.ZipFile(path, "w", way) as archive:
        archive.writestr(FILE, text)
    return path


def same_name_twice(folder: Path) -> Path:
    """./FILE and FILE are the same file."""
    return write_tar(folder / "a.tar.gz", FILE, f"./{FILE}")


def more_than_memory_holds(folder: Path) -> Path:
    """The files together are larger than what is kept in memory."""
    names = (f"policies/{i}.c" for i in range(submission.MOST_KEPT // MIB))
    return write_tar(folder / "a.tar.gz", FILE, *names, size=MIB)


def unpacks_without_end(folder: Path) -> Path:
    """The members unpack to more than the limit, although none is kept."""
    names = (f"build/{i}" for i in range(archive.MOST_UNPACKED // MIB + 1))
    return write_tar(folder / "a.tar.gz", *names, FILE, size=MIB)


def a_name_of_64_mib(folder: Path) -> Path:
    """A member's name is 64 MiB of zeros, which are packed to a few bytes."""
    info = tarfile.TarInfo("x")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 64 * MIB
    with gzip.open(folder / "a.tar.gz", "wb", 1) as file:
        file.write(info.tobuf() + bytes(info.size))
    return folder / "a.tar.gz"


def make_encrypted_zip(folder: Path) -> Path:
    path = write_zip(folder / "a.zip", zipfile.ZIP_STORED)
    data = bytearray(path.read_bytes())
    # the bit that says "encrypted", in the member's header and in the directory
    data[6] |= 1
    data[data.find(b"PK\1\2") + 8] |= 1
    path.write_bytes(data)
    return path


def damaged_inside(folder: Path) -> Path:
    """Some packed bytes of a member are overwritten."""
    path = write_zip(folder / "a.zip", text=Random(1).randbytes(4000).hex())
    data = bytearray(path.read_bytes())
    data[100:120] = b"\xff" * 20
    path.write_bytes(data)
    return path


def larger_than_it_says(folder: Path) -> Path:
    """The archive's directory says 9 bytes, and the file has 4 MiB."""
    path = write_zip(folder / "a.zip", text="x" * (4 * MIB))
    data = path.read_bytes()
    path.write_bytes(data.replace((4 * MIB).to_bytes(4, "little"), (9).to_bytes(4, "little")))
    return path


def needs_a_large_dictionary(folder: Path) -> Path:
    """Decompressing LZMA may take much memory, so it is not supported in a zip."""
    return write_zip(folder / "a.zip", zipfile.ZIP_LZMA)


def ends_early(folder: Path) -> Path:
    """The compressed stream lacks its last 20 bytes."""
    whole = lzma.compress(write_tar(folder / "b.tar.gz", FILE).read_bytes())
    (folder / "a.tar.xz").write_bytes(whole[:-20])
    return folder / "a.tar.xz"


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (same_name_twice, "twice"),
        (more_than_memory_holds, f"files of more than {submission.MOST_KEPT} bytes"),
        (unpacks_without_end, "when unpacked"),
        (a_name_of_64_mib, f"bytes of a name, more than {archive.MOST_HEADER}"),
        (make_encrypted_zip, "encrypted"),
        (damaged_inside, "decompressing"),
        (larger_than_it_says, "CRC"),
        (needs_a_large_dictionary, "neither stored nor deflated"),
        (ends_early, "a.tar.xz"),
        (
            lambda folder: write_tar(folder / "a.tar.gz", FILE, "policies/\udcff.c"),
            r"policies/\\xFF\.c",
        ),
        (
            lambda folder: write_tar(folder / "a.tar.gz", FILE, "mkfs/a\n\x1b[2J.c"),
            r"mkfs/a<U\+000A><U\+001B>\[2J\.c",
        ),
    ],
)
def test_a_hostile_archive_is_refused_with_words(
    tmp_path: Path, make: Callable[[Path], Path], why: str
) -> None:
    """The message is printable, although a name in the archive may not be."""
    with pytest.raises(Refused, match=why) as refused:
        take(make(tmp_path))
    assert str(refused.value).isprintable()
    assert str(refused.value).encode()


def tar_with(path: Path, *infos: tarfile.TarInfo) -> Path:
    """Return an archive of these headers. After each come as many zeros as its size says, at
    most 1 MiB."""
    with gzip.open(path, "wb", 1) as file:
        for info in infos:
            file.write(info.tobuf() + bytes(min(-(-info.size // 512) * 512, MIB)))
    return path


def tar_info(name: str = FILE, kind: bytes = tarfile.REGTYPE, size: int = 0) -> tarfile.TarInfo:
    """Return the header of an archive's member."""
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, size
    return info


def pax_line(key: str, value: str) -> bytes:
    """Return a line of a POSIX header, whose length counts itself."""
    rest = f" {key}={value}\n".encode()
    length = next(n for n in range(len(rest) + 9) if n == len(str(n)) + len(rest))
    return str(length).encode() + rest


def add_pax_header(path: Path, *lines: bytes) -> Path:
    """Return an archive with a POSIX header before the file."""
    data = b"".join(lines)
    with gzip.open(path, "wb", 1) as file:
        file.write(tar_info("x", tarfile.XHDTYPE, len(data)).tobuf())
        file.write(data + bytes(-len(data) % 512) + tar_info().tobuf() + bytes(1024))
    return path


def members_of_a_zip_that_share_bytes(folder: Path) -> Path:
    """The directory lists two members, of different names, at the same place."""
    path = write_zip(folder / "a.zip")
    data = path.read_bytes()
    start, end = data.find(b"PK\1\2"), data.rfind(b"PK\5\6")  # of the directory, which lists one
    one, tail = data[start:end], bytearray(data[end:])
    # The tail has the number of members, twice, and the bytes of the directory.
    tail[8:12] = (2).to_bytes(2, "little") * 2
    tail[12:16] = (2 * len(one)).to_bytes(4, "little")
    path.write_bytes(data[:start] + one + one.replace(b"clook", b"cloak") + tail)
    return path


def streams_without_end(folder: Path) -> Path:
    """The archive is 100,000 empty compressed streams, one after another."""
    (folder / "a.tar.gz").write_bytes(gzip.compress(b"") * 100_000)
    return folder / "a.tar.gz"


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda f: tar_with(f / "a.tar.gz", tar_info(kind=tarfile.GNUTYPE_SPARSE)), "special file"),
        (lambda f: tar_with(f / "a.tar.gz", tar_info(kind=tarfile.CHRTYPE)), "special file"),
        (lambda f: tar_with(f / "a.tar.gz", tar_info(kind=tarfile.BLKTYPE)), "special file"),
        (lambda f: tar_with(f / "a.tar.gz", tar_info(kind=tarfile.FIFOTYPE)), "special file"),
        (lambda f: tar_with(f / "a.tar.gz", tar_info(kind=b"V")), "special file"),
        (lambda f: tar_with(f / "a.tar.gz", tar_info("build/x", size=8**11 - 1)), "before its end"),
        (lambda f: add_pax_header(f / "a.tar.gz", pax_line("GNU.sparse.size", "9")), "sparse"),
        (lambda f: add_pax_header(f / "a.tar.gz", pax_line("size", str(1 << 40))), "huge"),
        (
            lambda f: add_pax_header(f / "a.tar.gz", pax_line("path", "../" + FILE)),
            "leaves its folder",
        ),
        (lambda f: add_pax_header(f / "a.tar.gz", pax_line("path", "/" + FILE)), "absolute"),
        (
            lambda f: add_pax_header(f / "a.tar.gz", pax_line("path", "x/" * 99)),
            "99 folders|folders deep",
        ),
        (
            lambda f: add_pax_header(f / "a.tar.gz", pax_line("path", "x" * 999)),
            "more than 512 characters",
        ),
        (lambda f: add_pax_header(f / "a.tar.gz", b"0 path=x\n"), "line of 0 bytes"),
        (lambda f: add_pax_header(f / "a.tar.gz", b"-9 path=x\n"), "line of -9 bytes"),
        (lambda f: write_tar(f / "a.tar.gz", FILE, FILE.upper()), "spelled differently"),
        (
            lambda f: write_tar(f / "a.tar.gz", "kernel/\u00e9.c", "kernel/e\u0301.c"),
            "spelled differently",
        ),
        (members_of_a_zip_that_share_bytes, "overlaps"),
        (streams_without_end, f"more than {archive.MOST_STREAMS} packed streams"),
    ],
)
def test_no_trick_of_an_archives_form_gets_by(
    tmp_path: Path, make: Callable[[Path], Path], why: str
) -> None:
    """make: writes an archive with a trick into a folder and returns its path; why: what the
    refusal must say, as a pattern."""
    with pytest.raises(Refused, match=why):
        take(make(tmp_path))


@pytest.mark.parametrize("magic", [m for m, (_, most) in archive.PACKED.items() if most < 64 * MIB])
def test_what_takes_long_to_unpack_has_a_lower_limit(tmp_path: Path, magic: bytes) -> None:
    """magic: the first bytes of a compressed file, which tell its kind. Slow kinds may have less
    than 64 MiB."""
    (tmp_path / "a").write_bytes(magic)
    os.truncate(tmp_path / "a", archive.PACKED[magic][1] + 1)
    with pytest.raises(Refused, match=f"more than {archive.PACKED[magic][1]} bytes"):
        take(tmp_path / "a")


@pytest.mark.parametrize("magic", archive.OTHERS)
def test_an_archive_of_another_kind_is_named(tmp_path: Path, magic: bytes) -> None:
    (tmp_path / "a").write_bytes(magic + bytes(1000))
    with pytest.raises(Refused, match=f"{archive.OTHERS[magic]} is not read here: hand in a tar"):
        take(tmp_path / "a")


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_every_usual_archive_is_read(tmp_path: Path, mode: str, form: int) -> None:
    """Compressed or not, with names that need a header of their own, as tar and Python write
    them."""
    long = f"{'build-' * 20}/{'x' * 60}/{FILE}"
    with tarfile.open(tmp_path / "a", mode, format=form) as made:
        for name in (long, "\u00e9.txt"):
            info = tarfile.TarInfo(name)
            data = os.urandom(70_000).hex().encode()
            info.size = len(data)
            made.addfile(info, io.BytesIO(data))
    assert len(take(tmp_path / "a")[FILE]) == 140_000


# ---- what reading an archive costs ----


# Limits for these tests, lower than the real ones; and far more members than the limit allows
LOW = {"MOST_MEMBERS": 200, "MOST_UNPACKED": 4 * MIB, "MOST_DIRECTORY": 64 << 10}
PLENTY = 20 * LOW["MOST_MEMBERS"]


@dataclass
class Work:
    """How much was read to look at a submission."""

    entries: int = 0  # entries of folders that were read
    headers: int = 0  # headers of tar archives that were read
    bytes: int = 0  # bytes of files that were read


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    """Count from here on what is read, with the limits lowered to LOW."""
    for name, limit in LOW.items():
        monkeypatch.setattr(archive, name, limit)
    made = Work()
    scandir, frombuf = os.scandir, tarfile.TarInfo.frombuf

    @contextmanager
    def scanned(path: Path) -> Iterator[Iterator[os.DirEntry]]:
        """List a folder, counting its entries."""

        def counted() -> Iterator[os.DirEntry]:
            """Yield the entries, and count them."""
            for entry in entries:
                made.entries += 1
                yield entry

        with scandir(path) as entries:
            yield counted()

    def header(*arguments: object) -> tarfile.TarInfo:
        """Read a header of a tar archive and count it."""
        made.headers += 1
        return frombuf(*arguments)

    class Counted(io.FileIO):
        """A file that counts the bytes that are read of it."""

        def read(self, size: int = -1) -> bytes:
            data = super().read(size)
            made.bytes += len(data)
            return data

    monkeypatch.setattr(archive.os, "scandir", scanned)
    monkeypatch.setattr(archive.tarfile.TarInfo, "frombuf", header)
    monkeypatch.setattr(Path, "open", lambda path, mode="r": Counted(path, "r"))
    return made


def empty_folders(folder: Path) -> Path:
    """There are twice as many folders as members are allowed."""
    for i in range(2 * LOW["MOST_MEMBERS"]):
        (folder / f"d{i}").mkdir()
    return folder


def folders_in_folders(folder: Path) -> Path:
    """The folders are three times as deep as the limit allows."""
    here = folder
    for _ in range(3 * archive.MOST_DEPTH):
        here /= "d"
        here.mkdir()
    return folder


def zip_of_names(folder: Path) -> Path:
    """Return an archive with a list of many members, made by hand: none of them is there."""
    path = write_zip(folder / "a.zip")
    data = path.read_bytes()
    start, end = data.find(b"PK\1\2"), data.rfind(b"PK\5\6")
    listed = data[start:end] * PLENTY
    # So many members need the large form of the directory's tail (ZIP64), a pointer to this tail,
    # and the ordinary tail with its fields full.
    large = (44, 45, 45, 0, 0, PLENTY, PLENTY, len(listed), start)
    made = data[:start] + listed + struct.pack("<4sQ2H2L4Q", b"PK\6\6", *large)
    made += struct.pack("<4sLQL", b"PK\6\7", 0, start + len(listed), 1)
    full = (0, 0, 65535, 65535, 2**32 - 1, 2**32 - 1, 0)
    path.write_bytes(made + struct.pack("<4s4H2LH", b"PK\5\6", *full))
    return path


def folders_in_a_tar(folder: Path) -> Path:
    """The archive is a folder's entry again and again."""
    with gzip.open(folder / "a.tar.gz", "wb", 1) as file:
        file.write(tar_info("d", tarfile.DIRTYPE).tobuf() * PLENTY)
    return folder / "a.tar.gz"


def names_of_names(folder: Path) -> Path:
    """Write headers each of which names the next one."""
    named = tar_info("x", tarfile.GNUTYPE_LONGNAME, 2).tobuf() + b"x".ljust(512, b"\0")
    with gzip.open(folder / "a.tar.gz", "wb", 1) as file:
        file.write(named * PLENTY)
    return folder / "a.tar.gz"


def packed_zeros(folder: Path) -> Path:
    """Return an archive of gigabytes, as it says, of which some megabytes are there."""
    with gzip.open(folder / "a.tar.gz", "wb", 1) as file:
        file.write(tar_info("build/x", size=8**11 - 1).tobuf())
        for _ in range(2 * LOW["MOST_UNPACKED"] // MIB):
            file.write(bytes(MIB))
    return folder / "a.tar.gz"


def many_files(folder: Path) -> Path:
    """The archive has one member more than the limit allows."""
    with zipfile.ZipFile(folder / "a.zip", "w") as made:
        for i in range(LOW["MOST_MEMBERS"] + 1):
            made.writestr(str(i), "")
    return folder / "a.zip"


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (empty_folders, "more than 200 files and folders"),
        (folders_in_folders, "more than 32 folders deep"),
        (zip_of_names, "more than 65536"),
        (many_files, "more than 200 files and folders"),
        (folders_in_a_tar, "more than 200 files and folders"),
        (names_of_names, "more than 600 headers"),
        (packed_zeros, f"more than {4 * MIB} bytes when unpacked"),
    ],
)
def test_a_costly_submission_is_left_at_the_limit(
    tmp_path: Path, make: Callable[[Path], Path], why: str, request: pytest.FixtureRequest
) -> None:
    """Reading stops as soon as a limit is exceeded: one entry or header too many, and at most 1 MiB
    read."""
    path = make(tmp_path)
    work = request.getfixturevalue("work")
    with pytest.raises(Refused, match=why):
        take(path)
    assert work.entries <= 200 + 1
    assert work.headers <= 600 + 1
    assert work.bytes <= MIB


def test_unpacking_takes_no_more_memory_than_it_may(tmp_path: Path) -> None:
    """A stream that asks for a dictionary of 1.5 GB is refused before it has it."""
    data = bytearray(lzma.compress(tar_info().tobuf(), preset=0))
    place = data.index(b"\x21\x01", 12) + 2  # LZMA2's properties: the size of its dictionary
    data[place] = 39
    # The block's header begins at byte 12 with its length, and ends with its checksum.
    head = data[12 : 12 + 4 * (data[12] + 1) - 4]
    data[12 + len(head) : 16 + len(head)] = zlib.crc32(head).to_bytes(4, "little")
    (tmp_path / "a.tar.xz").write_bytes(data)
    with pytest.raises(Refused, match=r"[Mm]emory"):
        take(tmp_path / "a.tar.xz")


def test_an_archive_of_large_files_of_no_interest_is_taken(tmp_path: Path) -> None:
    """An object file of a build is skipped."""
    assert take(write_tar(tmp_path / "a.tar.gz", "build/kernel/a.o", FILE)).keys() == {FILE}


# ---- what is shown of a submission's text ----


def test_words_of_a_stranger_move_no_cursor_and_are_no_formula() -> None:
    """Control characters are shown by their numbers. A cell of a table that begins as a formula
    gets an apostrophe before it."""
    text = "\x1b[2J100 of\t100\n\ud800\udcffé\ufeff"
    assert make_printable(text) == "<U+001B>[2J100 of\t100\n<U+D800>\\xFFé<U+FEFF>"
    assert len(make_printable("x" * 9000, 100)) < 110
    assert [format_cell(text) for text in ("=1+1", "@a", "plain", "")] == [
        "'=1+1",
        "'@a",
        "plain",
        "",
    ]


def test_no_cell_of_a_table_is_a_formula() -> None:
    """A spreadsheet would compute a cell that begins with =, +, - or @."""
    record = Record(LAB.name, LAB.title, "1", "refused", "=1+1/../x: leaves its folder", most=40)
    rows = [*csv.reader(io.StringIO(table.text(record)))]
    record.tests = [Outcome("g", "one", "", False, 0, 40, "this", "@SUM(1)")]
    rows += csv.reader(io.StringIO(table.text(record)))
    rows += csv.reader(io.StringIO(classtable.format_table({"=2+2": record}, [])))
    assert not [word for row in rows for word in row if word.startswith(("=", "+", "-", "@"))]


def test_a_console_that_commands_a_terminal_is_shown_as_text(tmp_path: Path) -> None:
    """The kernel prints codes that clear a terminal, and HTML. The student gets no points for them,
    and no form passes them on."""
    lab, old = find_lab("delayed-write"), "spin_lock(&bcache.lock);"
    forged = rf'kprintf("\x1b[2J\x1b[H<script>100 of 100\n"); panic("]]>\x07");{old}'
    cache = "kernel/cache/delayed.c"
    files = tree.solution_files(lab, (Edit(cache, "make_dirty", old, forged),))
    files[cache] = f'#include "kernel/machine/print.h"\n{files[cache]}'
    record = grading.grade_submission(lab, lambda: files, tmp_path, "3", "make grade", "delay")
    formats.write_all(record, tmp_path)
    expect_all_forms(tmp_path)
    assert record.score == 0 and "100 of 100" in record.tests[0].came
    assert not {"\x1b", "\x07"} & set((tmp_path / "result.txt").read_text())
    assert "<script>100" not in (tmp_path / "report.html").read_text()


def test_a_link_in_a_class_is_not_followed(tmp_path: Path) -> None:
    """The link in the folder of a class leads to another folder with a whole submission."""
    (tmp_path / "other" / FILE).parent.mkdir(parents=True)
    (tmp_path / "other" / FILE).write_text("x")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "eve").symlink_to(tmp_path / "other")
    (handed,) = classroom.collect_submissions(tmp_path / "in", LAB)
    assert (handed.refused, handed.files) == ("eve: a link", {})


def test_a_submission_is_not_called_as_the_results_are(tmp_path: Path) -> None:
    """The results' folder has a file `nonce`, so no student's folder may have this name."""
    (tmp_path / "nonce.zip").write_bytes(b"")
    with pytest.raises(classroom.BadClass, match="nonce"):
        classroom.collect_submissions(tmp_path, LAB)


@pytest.mark.parametrize("deep", ["a = " + "[" * 100_000, "a = " + "1" * 100_000])
def test_a_form_that_python_cannot_hold_spoils_no_class(deep: str) -> None:
    """The form has 100,000 brackets, or a number of 100,000 digits."""
    with pytest.raises(Wrong, match="TOML"):
        answers.read_form(deep)
    assert answers.find_similar_pairs({"eve": deep, "bob": 'student = "B"\nx = 1\n'}) == []


# ---- texts ----

# gcc reads R"(")" as a string of one quote, so the assembler is code. To a reader that does not
# know such strings, the assembler stands within quotes.
RUNS_ON = 'const char *s = R"(")"; void f(void) { __asm__("nop"); } const char *t = R"(")";\n'


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('void f(void) { as\\\r\nm("nop"); }\n', "asm"),
        ('void f(void) { as\\\f\nm("nop"); }\n', "control character"),
        (RUNS_ON, 'R"'),
        ("int a = '\"';\nvoid f(void) { __asm__(\"nop\"); }\nint b = '\"';\n", "__asm__"),
        ('#if 0\nit\'s /*\n#endif\nvoid f(void) { __asm__("nop"); }\n/* */\n', "__asm__"),
        ('[[gnu::section(".boot")]] int x;\n', "[["),
        ('<: [gnu::section(".boot")]] int x;\n', "<: ["),
        ('int x __attribute((section(".boot")));\n', "__attribute"),
    ],
)
def test_what_only_the_compiler_sees_is_refused(text: str, why: str) -> None:
    """These texts do compile, and their object has assembler or a section .boot."""
    line = [f"{PREFIX}gcc", "-std=gnu11", "-w", "-S", "-x", "c", "-o", "-", "-"]
    made = subprocess.run(line, input=text.encode(), capture_output=True, check=True).stdout
    assert b"#APP" in made or b".section\t.boot" in made
    with pytest.raises(Refused) as refused:
        sourcefile.check_text("a.c", text)
    assert why in str(refused.value)


def test_lines_may_end_as_they_do_elsewhere_and_text_may_be_quoted_anyhow() -> None:
    """Windows' line ends, and forbidden words in characters, strings and comments, are allowed."""
    text = "char a = '\"', b = '\\''; /* don't */ char *s = \"it's [[ asm R\\\"(\"; // \"\n"
    sourcefile.check_text("policies/a.c", '#include "kernel/policy/policy.h"\n' + text)
    sourcefile.check_text("a.c", text.replace("\n", "\r\n"))


def test_a_policy_has_its_boundary_only() -> None:
    """Policies may include their kind's header and those of policies/lib/. Files of the kernel may
    include more."""
    with pytest.raises(
        Refused, match=r"kernel/machine/riscv.h.*a policy may include its kind's header"
    ):
        sourcefile.check_text("policies/sched/a.c", '#include "kernel/machine/riscv.h"\n')
    sourcefile.check_text("kernel/a.c", '#include "kernel/machine/riscv.h"\n')
    for file in ("policies/sched/a.c", "policies/lib/a.c"):
        sourcefile.check_text(file, '#include "policies/lib/ghost.h"\n')
        for header in ("policies/lib/nosuch.h", "policies/sched/a.h", "policies/lib/../a.h"):
            with pytest.raises(Refused):
                sourcefile.check_text(file, f'#include "{header}"\n')
    with pytest.raises(Refused):
        sourcefile.check_text("policies/lib/a.c", '#include "kernel/machine/riscv.h"\n')


def test_what_the_preprocessor_has_read_is_asked_too() -> None:
    """The preprocessor's output names each file it read. It may read no other file, and the
    headers' text must be as if they were read alone."""
    alone = sourcefile.read_expanded("-", '# 1 "./kernel/policy/policy.h" 1\nint a;\n# 2 "-" 2\n')
    good = f'# 1 "./kernel/policy/policy.h" 1\nint a;\n# 2 "{FILE}" 2\nint b;\n'
    sourcefile.check_expanded(FILE, sourcefile.read_expanded(FILE, good), alone)
    bad = f'{good}# 1 "/etc/hostname" 1\n# 3 "{FILE}" 2\n'
    with pytest.raises(Refused, match="includes /etc/hostname"):
        sourcefile.check_expanded(FILE, sourcefile.read_expanded(FILE, bad), alone)
    with pytest.raises(Refused, match="includes /etc/hostname"):
        sourcefile.check_headers(FILE, sourcefile.read_expanded(FILE, bad).headers)
    bad = good.replace("int a;", "int a; int c;")
    with pytest.raises(Refused, match=r"changes what stands in kernel/policy/policy.h"):
        sourcefile.check_expanded(FILE, sourcefile.read_expanded(FILE, bad), alone)


def test_a_text_that_opens_comments_without_end_is_read_once() -> None:
    """Else each comment's end would be searched for up to the end of the text. In the largest file
    that is allowed, this would take hours."""
    text = "/* " * (submission.MOST_BYTES // 3)
    assert sourcefile.strip_comments(text).strip() == ""
    assert likeness.split_words(text) == []


# ---- builds ----


@dataclass(frozen=True)
class Bomb:
    """A text that costs a compiler much, and the words with which its build fails."""

    text: str
    why: str


# a40 expands to 2^40 copies of a0
MANY = "\n".join(f"#define a{i + 1} a{i} a{i}" for i in range(40))


@pytest.mark.parametrize(
    "bomb",
    [
        Bomb(f"#define a0 x +\n{MANY}\nint f(int x) {{ return a40 0; }}\n", "File size limit"),
        Bomb("int f(void) { return " + "(" * 300_000 + ";}", "compiler error|nesting"),
        Bomb("\n".join(f"int x{i}(void) {{ return y; }}" for i in range(700)), "Werror"),
    ],
    ids=["macros", "brackets", "complaints"],
)
def test_a_bomb_for_the_compiler_takes_no_more_than_its_share(
    bomb: Bomb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sourcefile, "MOST_TEXT", 1 << 20)  # the limit before this one
    files = {FILE: tree.pristine_text(FILE) + bomb.text}
    with pytest.raises(compiler.BuildFailed, match=bomb.why) as failed:
        tree.build_kernel(tmp_path, LAB, files)
    assert len(str(failed.value)) < 2 * compiler.MOST_SAID


# ---- evidence ----


def test_a_flood_of_transfers_is_not_read_to_its_end(tmp_path: Path) -> None:
    """The devices' log has 1000 transfers, and the limit is 10."""
    log = tmp_path / "devices"
    line = "virtio_blk_handle_read vdev 0x1 req 0x1 sector 8 nsectors 8\n"
    log.write_text(line * 1000)
    assert sum(map(len, evidence.device_transfers(log, 10))) == 10


def test_a_machine_has_no_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """QEMU is started without a network card."""
    seen: list[Config] = []

    def start(config: Config, *_: object, **__: object) -> None:
        seen.append(config)
        raise Wrong("a", "b")

    monkeypatch.setattr(workbench, "start", start)
    with pytest.raises(Wrong):
        workbench.Workbench(Path("k"), Path("k"), tmp_path, "1", 1).run(Scenario("s", ""))
    assert "-nic none" in " ".join(seen[0].command())
