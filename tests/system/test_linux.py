"""`make bench LINUX=1`, which measures Sluice and a Linux guest by turns.

Most tests need neither a network nor Linux: the programs that would fetch Debian's kernel (apt-get,
apt-cache, dpkg-deb) are shell scripts that a test writes. The last tests boot Linux where it has
been fetched. The archive is the initial RAM disk, in cpio's format `newc`, that Linux starts with.
"""

import json
import lzma
import os
import re
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
from trees import make

from sluice.host.paths import BUILD, KERNEL, ROOT
from sluice.system import image
from sluice.system.image import Content
from sluice.system.qemu import ConsoleError, Machine
from tools.bench import against_linux, as_linux, beside, cpio, debian, journaled, linux, real_time
from tools.bench.debian import Kernel, Missing
from tools.bench.linux import LinuxMachine

PACKAGE = "linux-image-6.12.9-riscv64"
WANTED = (  # the lines of the table that issue 20 asks for
    *("cold sequential read", "cold random 4 KiB reads", "cached 4 KiB reads"),
    *("sequential write and fsync", "create and unlink", "null system calls"),
    *("fork, exec and wait", "device, random 4 KiB, 1 process", "device, 64 KiB requests"),
)

# ---- the archive (cpio's format newc: 6 bytes of magic, 13 numbers of 8 digits, name, data) ----

ENTRIES = [
    cpio.folder("dev"),
    cpio.console(),
    cpio.file("init", b"#!", 0o755),
    cpio.file("odd", b"12345"),
    cpio.file("none", b""),
]


def read_back(data: bytes) -> Iterator[tuple[cpio.Entry, list[int]]]:
    """Yield each entry of a cpio archive, and the 13 fields of its header: after a magic of 6
    bytes, each is a number in 8 hexadecimal digits."""
    at = 0
    while True:
        assert at % 4 == 0 and data[at : at + 6] == b"070701"  # the magic; all parts are aligned
        fields = [int(data[at + 6 + 8 * i : at + 14 + 8 * i], 16) for i in range(13)]
        size, length = fields[6], fields[11]  # of the data, and of the name
        name = data[at + 110 : at + 110 + length]
        assert name.endswith(b"\0")
        start = (at + 110 + length + 3) & ~3  # of the data, behind the header of 110 bytes
        path = name[:-1].decode()
        if path == "TRAILER!!!":
            assert len(data) == start
            return
        inside = data[start : start + size]
        yield cpio.Entry(path, fields[1], inside, (fields[9], fields[10])), fields
        at = (start + size + 3) & ~3


def test_an_archive_holds_what_was_put_in() -> None:
    found = list(read_back(cpio.archive(ENTRIES)))
    assert [entry for entry, _ in found] == ENTRIES
    inode_numbers = [fields[0] for _, fields in found]
    assert len(set(inode_numbers)) == len(inode_numbers)
    link_counts = [fields[4] for _, fields in found]
    assert link_counts == [2, 1, 1, 1, 1]  # the first entry is a folder


@pytest.mark.parametrize("program", ["cpio", "bsdcpio"])
def test_programs_read_the_archive(program: str, tmp_path: Path) -> None:
    if not shutil.which(program):
        pytest.skip(f"there is no {program} here")
    plain = [entry for entry in ENTRIES if not stat.S_ISCHR(entry.mode)]
    words = [program, "--extract", "--quiet"]
    subprocess.run(words, input=cpio.archive(plain), cwd=tmp_path, check=True)
    assert (tmp_path / "odd").read_bytes() == b"12345"
    assert (tmp_path / "init").stat().st_mode & 0o777 == 0o755


# ---- the kernel's package ----


def fake(folder: Path, name: str, does: str) -> None:
    """Write a shell script of this name, which does these commands, into the folder."""
    (folder / name).write_text(f"#!/bin/sh\n{does}\n")
    (folder / name).chmod(0o755)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the only programs that are found: an apt that has the kernel, a dpkg-deb, and a
    shell's."""
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    for name in ("sh", "mkdir", "touch"):
        (bin_folder / name).symlink_to(shutil.which(name) or name)
    deb = f"{tmp_path}/linux/apt/cache/archives/{PACKAGE}_6.12.9-1_riscv64.deb"
    fake(
        bin_folder,
        "apt-get",
        'case "$*" in indextargets*) echo http://archive.example/debian;;\n'
        f"*install\\ {PACKAGE}) touch {deb};;\n*update) ;;\n*) exit 9;; esac",
    )
    fake(bin_folder, "apt-cache", f"echo {debian.META}\necho '  Depends: {PACKAGE}'")
    fake(
        bin_folder,
        "dpkg-deb",
        'mkdir -p "$3/boot" "$3/usr/lib/modules/6.12.9-riscv64"\n'
        'touch "$3/boot/vmlinux-6.12.9-riscv64"',
    )
    keys = tmp_path / "keys.gpg"
    keys.touch()
    monkeypatch.setattr(debian, "KEYS", keys)
    monkeypatch.setenv("PATH", str(bin_folder))
    return bin_folder


def test_the_kernel_is_fetched_once(programs: Path, tmp_path: Path) -> None:
    """The second time, the programs that fetch it are gone, and the kernel is still found."""
    folder = tmp_path / "linux" / "kernel"
    found = debian.get_kernel(folder)
    assert (found.release, found.modules.name) == ("6.12.9-riscv64", "6.12.9-riscv64")
    assert [path.name for path in folder.parent.iterdir()] == ["kernel"]
    shutil.rmtree(programs)
    assert debian.get_kernel(folder) == found


def test_apt_is_asked_for_signed_lists_of_the_system_s_archive(tmp_path: Path) -> None:
    """The list of sources names Debian's key and trusts no unsigned archive. All folders of apt are
    below the test's, so the system's lists stay as they are."""
    apt = debian.Apt(tmp_path)
    apt.prepare("http://archive.example/debian")
    said = (tmp_path / "sources.list").read_text()
    key = "signed-by=/usr/share/keyrings/debian-archive-keyring.gpg"
    assert said == f"deb [arch=riscv64 {key}] http://archive.example/debian trixie main\n"
    assert "trusted" not in said + " ".join(apt.options()).lower()
    places = [word for word in apt.options() if word.startswith("Dir::")]
    assert all(place.partition("=")[2].startswith((str(tmp_path), "/dev/null")) for place in places)


@pytest.mark.parametrize(
    ("program", "does", "why"),
    [
        ("apt-get", "", "apt knows no archive of "),
        (
            "apt-cache",
            "echo Depends: nothing",
            "Debian's trixie has no package linux-image-riscv64",
        ),
        (
            "apt-cache",
            "echo '  Depends: linux-image-6.16.1-riscv64'",
            r"Debian's trixie has linux-image-6.16.1-riscv64, and no linux-image-6.12.\*",
        ),
        ("apt-cache", "exit 100", "`apt-cache linux-image-riscv64` failed with status 100"),
        ("dpkg-deb", "exit 2", "`dpkg-deb .*` failed with status 2"),
    ],
)
def test_a_kernel_that_is_not_to_be_had_is_named(
    programs: Path, tmp_path: Path, program: str, does: str, why: str
) -> None:
    """One of the programs fails, or prints something else. The message says what, and nothing half
    fetched stays in the folder."""
    fake(programs, program, does)
    with pytest.raises(Missing, match=why):
        debian.get_kernel(tmp_path / "linux" / "kernel")
    assert not (tmp_path / "linux" / "kernel").exists()
    if program != "dpkg-deb":  # it runs when all has been fetched, and that is kept
        assert not (tmp_path / "linux").exists()


@pytest.mark.parametrize("program", debian.TOOLS)
def test_a_program_that_is_not_there_is_named(programs: Path, tmp_path: Path, program: str) -> None:
    (programs / program).unlink()
    with pytest.raises(Missing, match=f"there is no program {program}:"):
        debian.get_kernel(tmp_path / "linux" / "kernel")
    assert not (tmp_path / "linux").exists()


def test_keys_that_are_not_there_are_named(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(debian, "KEYS", tmp_path / "none.gpg")
    with pytest.raises(Missing, match="install the package debian-archive-keyring"):
        debian.get_kernel(tmp_path / "linux" / "kernel")


def test_an_archive_without_the_lists_leaves_nothing_behind(programs: Path, tmp_path: Path) -> None:
    """`apt-get update` is replaced by a program that fails with status 100."""
    fake(programs, "apt-get", 'case "$*" in *update) exit 100;; esac\necho http://archive.example')
    with pytest.raises(Missing, match="`apt-get update` failed with status 100"):
        debian.get_kernel(tmp_path / "linux" / "kernel")
    assert not (tmp_path / "linux").exists()


def test_without_linux_the_command_fails_and_says_why(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def no_kernel() -> Kernel:
        raise Missing("there is no program apt-get")

    monkeypatch.setattr(debian, "get_kernel", no_kernel)
    assert against_linux.compare_systems(1) == 1
    said = capsys.readouterr().err
    assert said == "no Linux guest: there is no program apt-get; nothing was measured\n"


# ---- what Linux starts with ----


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    """Return a kernel whose module `top` needs two others, of which one is built in."""
    folder = tmp_path / "usr/lib/modules/6.12.9"
    (folder / "kernel").mkdir(parents=True)
    (folder / "modules.builtin").write_text("kernel/inside.ko\n")
    for name, needs in (("top", "in-between,inside"), ("in-between", "base"), ("base", "")):
        data = lzma.compress(b"\0depends=" + needs.encode() + b"\0")
        (folder / "kernel" / f"{name}.ko.xz").write_bytes(data)
    return Kernel(tmp_path)


def test_a_module_comes_behind_what_it_needs(kernel: Kernel) -> None:
    """`top` needs `in_between`, which needs `base`."""
    assert list(linux.load_modules(kernel.modules, ("top", "base"))) == [
        "base",
        "in_between",
        "top",
    ]


def test_a_module_that_is_not_there_is_named(kernel: Kernel) -> None:
    with pytest.raises(Missing, match=r"6\.12\.9 has no module other"):
        linux.load_modules(kernel.modules, ("other",))


def test_init_finds_each_module_that_it_is_to_load() -> None:
    """Modules are loaded in the order in which they are given: `b`, then `a`."""
    entries = {
        entry.path: entry for entry in linux.archive_entries({"b": b"1", "a": b"2"}, b"init")
    }
    listed = entries["modules"].data.decode().splitlines()
    assert listed == ["/lib/b.ko", "/lib/a.ko"]
    assert [entries[path[1:]].data for path in listed] == [b"1", b"2"]
    assert entries["init"].mode & 0o111


def test_both_machines_have_the_same_hardware(kernel: Kernel, tmp_path: Path) -> None:
    """QEMU's command lines for Sluice and Linux differ only in the kernel, its arguments, the
    initial RAM disk, and the name of the disk's image. Neither counts instructions (-icount)."""
    (tmp_path / "boot").mkdir()
    (tmp_path / "boot/vmlinux-6.12.9").touch()
    fresh = {system: tmp_path / f"{system}.fresh" for system in beside.SYSTEMS}
    for path in fresh.values():
        path.touch()
    guests = beside.Guests(tmp_path, fresh, kernel, tmp_path / "initrd")
    ours, theirs = (guests.machine(system).config.command() for system in beside.SYSTEMS)
    theirs = [word.replace("Linux.img", "Sluice.img") for word in theirs]
    only_ours = [word for word in ours if word not in theirs]
    only_theirs = [word for word in theirs if word not in ours]
    assert only_ours == [str(KERNEL)]
    assert "-icount" not in ours + theirs
    initrd = ["-initrd", f"{tmp_path}/initrd"]
    added = ["-append", linux.ARGS, "-no-reboot", *initrd]
    assert only_theirs == ["default", f"{tmp_path}/boot/vmlinux-6.12.9", *added]


# ---- the programs ----


def test_both_systems_run_one_object_file() -> None:
    """Linux's program `bench` is linked from the object files of Sluice's. Only the system calls
    (calls.o) are its own."""
    said = make(ROOT, "-n", "-B", "LOCK=held", "SETUP=no", "V=1", "build/guest/bench").stdout
    (link,) = [line.split() for line in said.splitlines() if " -o build/guest/bench " in line]
    objects = [word for word in link if word.endswith((".o", ".a"))]
    assert sorted(objects) == [
        "build/guest/calls.o",
        "build/parts/load/bench.o",
        "build/user/lib.a",
    ]


def test_both_systems_have_all_lines_that_are_wanted() -> None:
    names = [line.name for line in beside.LINES]
    assert set(names) >= set(WANTED) and len(set(names)) == len(names)


def test_a_line_has_its_read_ahead_in_sluice_only() -> None:
    """A line of the table may name a prefetch policy. Sluice uses it during that line; Linux is
    given no such command."""
    line = real_time.Line("a line", "read /file", "MB/s", 1, prefetch="ondemand")
    sluice, other = (mock.create_autospec(kind, instance=True) for kind in (Machine, LinuxMachine))
    for machine in (sluice, other):
        with beside.line_settings(machine, line):
            machine.check("the line")
    said = [[call.args[0] for call in machine.check.mock_calls] for machine in (sluice, other)]
    before, after = "policy use prefetch ondemand", "policy use prefetch none"
    assert said == [[before, "the line", after], ["the line"]]


# ---- the figures ----


def test_a_ratio_is_of_two_speeds_of_one_round() -> None:
    row = beside.Row("a line", "MB/s", [10, 40, 90], [5, 80, 30])  # Sluice's, Linux's by rounds
    assert row.ratios() == [2, 0.5, 3]
    # The cells: both medians, then the ratios' median, least and greatest.
    assert row.format_cells()[:7] == ["a line", "40", "30", "MB/s", "2.00", "0.50", "3.00"]


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [([3, 2], "ahead"), ([1, 1], "behind"), ([2, 1], "not told apart"), ([3, 1], "not told apart")],
)
def test_a_system_is_faster_only_if_it_was_so_in_every_round(
    ours: list[float], verdict: str
) -> None:
    """Linux reached 2 and 1.5 in the two rounds. "behind" and "ahead" are in both rounds."""
    row = beside.Row("a line", "calls/s", ours, [2, 1.5])
    head, line = beside.format_rows([row]).splitlines()
    assert head.split("  ")[-1] == "Sluice is"
    assert line.endswith(f"  {verdict}")


def round_of(ours: float, theirs: float) -> beside.Round:
    """Return a round with the same speeds in each line."""
    return {line.name: {"Sluice": ours, "Linux": theirs} for line in beside.LINES}


def test_what_was_measured_before_a_stop_is_kept(
    tmp_path: Path, kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Control-C stops the third round of five. The file then has the figures of two rounds, in
    which Sluice was twice as fast, and the systems took turns in being first."""
    (tmp_path / "boot").mkdir()
    (tmp_path / "boot/vmlinux-6.12.9").touch()
    orders = []  # for each round, which system was measured first

    def one_round(guests: object, order: tuple[str, ...], report: object) -> beside.Round:
        """Note the order of a round, and be interrupted in the third."""
        orders.append(order)
        if len(orders) == 3:
            raise KeyboardInterrupt
        return round_of(4, 2)

    out = BUILD / f"test-{os.getpid()}.json"
    monkeypatch.setattr(debian, "get_kernel", lambda: kernel)
    monkeypatch.setattr(beside, "prepare", lambda *_: None)
    monkeypatch.setattr(beside, "measure_round", one_round)
    monkeypatch.setattr(beside, "OUT", out)
    try:
        with pytest.raises(
            KeyboardInterrupt, match=f"2 of 5 rounds are done and kept in build/{out.name}"
        ):
            beside.run_comparison(5)
        kept = json.loads(out.read_text())
    finally:
        out.unlink(missing_ok=True)
    assert orders == [("Sluice", "Linux"), ("Linux", "Sluice"), ("Sluice", "Linux")]
    assert kept["machine"]["linux"] == "6.12.9"
    assert [row["ratios"] for row in kept["rows"]] == len(beside.LINES) * [[2, 2]]


def test_a_stop_before_the_first_round_says_so() -> None:
    assert "no round was done" in beside.describe_progress(0, 5)


# ---- with a journal ----


@pytest.mark.parametrize(
    ("ratios", "said"), [((1.9, 2.5, 1.8), "2: MISSED"), ((1.9, 2.5, 2), "2: met")]
)
def test_what_was_asked_of_the_journal_is_of_the_median_round(
    ratios: tuple[float, ...], said: str
) -> None:
    """In the line SHARED, the median of the rounds' ratios of Sluice to ext3 must be 2 or more. The
    other lines have no target. A cell shows the median, and the least and greatest ratio."""
    rounds = [
        {name: {"Sluice": 4 * r, "ext3": 4, "ext4": 2} for name in (journaled.SHARED, "other")}
        for r in ratios
    ]
    assert journaled.judge_bar(journaled.SHARED, rounds) == said
    assert journaled.judge_bar("other", rounds) == ""
    cells = journaled.make_cells("other", "files", rounds)
    assert cells[5] == f"{sorted(ratios)[1]:.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def test_linux_mounts_its_disk_as_the_archive_says() -> None:
    entries = {entry.path: entry for entry in linux.archive_entries({}, b"init", "ext3")}
    assert entries["type"].data == b"ext3\n"


# ---- policies beside Linux ----


def test_each_read_ahead_case_is_an_example_that_the_policy_is_held_to() -> None:
    source = (ROOT / "tests/policies/prefetch/prefetch_test.c").read_text(encoding="utf-8")
    examples = re.sub(r'"\s*"', "", source)
    for case in as_linux.READS:
        assert f"{case.steps};" in examples or f'{case.steps}"' in examples, case.name


def test_what_the_guest_printed_is_read_in_the_notation_of_a_case() -> None:
    printed = "pages read /f none 0+2 5\r\nstep 0+2 2-3 9\r\nstep 5\r\nstatus 0\r\n"
    assert as_linux.parse_reads(printed) == "0+2 2-3 9; 5"
    assert as_linux.parse_ages("wrote 1 5120\r\nwrote 31 30850\n") == ((1, 5.12), (31, 30.85))


@pytest.mark.parametrize(
    ("theirs", "same"),
    [
        (((1, 5.12), (9, 30.9)), True),
        (((1, 5.12), (9, 31.1)), False),
        (((2, 5.12), (8, 30.9)), False),
        (((1, 5.12),), False),
    ],
)
def test_writes_are_as_linux_if_they_are_as_many_at_most_a_second_apart(
    theirs: tuple[tuple[int, float], ...], same: bool
) -> None:
    """A pair is a number of writes and when they came, in s. Linux is compared with our pairs."""
    assert as_linux.are_near(theirs, ((1, 5), (9, 30))) is same


def test_a_case_that_differs_shows_both_answers() -> None:
    """The guest is a stand-in: first it answers another read-ahead than ours, then the same."""
    guest = mock.create_autospec(LinuxMachine, instance=True)
    guest.check.return_value = "step 0+2 2-3\n"
    same, line = as_linux.ask_reads(guest, as_linux.READS[0])
    assert not same and "Linux:  0+2 2-3\n" in line and as_linux.READS[0].steps in line
    guest.check.return_value = "".join(
        f"step {step.strip()}\n" for step in as_linux.READS[0].steps.split(";")
    )
    assert as_linux.ask_reads(guest, as_linux.READS[0])[0]


# ---- Linux itself ----

SMALL = [  # each line of the table, made small
    *("read /file", "random /file 3", "cached /file", "write /write 64k", "create 3", "null 5"),
    *("exec 2", "device disk0 1m 4k 4 2"),
]


def test_linux_runs_every_line_and_leaves_a_good_disk(tmp_path: Path) -> None:
    """Each line that the two kernels are compared by is run once, small, under Linux."""
    if not debian.FOLDER.exists():
        pytest.skip("Linux has not been fetched here: `make bench LINUX=1` does so")
    assert {each.split()[0] for each in SMALL} == {line.command.split()[0] for line in beside.LINES}
    make(ROOT, "SETUP=no", *(f"build/guest/{name}" for name in ("init", *beside.NEEDED)))
    programs = BUILD / "guest"
    own = {f"/bin/{name}": (programs / name).read_bytes() for name in beside.NEEDED}
    content = Content(files={**own, "/file": bytes(20000)}, programs=False)
    found = debian.get_kernel()
    initrd = linux.make_initrd(tmp_path / "initrd", found, programs)
    fresh = {"Linux": image.make_image(tmp_path / "fresh.img", content)}
    guests = beside.Guests(tmp_path, fresh, found, initrd)
    with guests.machine("Linux") as machine:
        machine.wait_prompt()
        for command in SMALL:
            line = real_time.Line(command, command, "", 1)
            assert real_time.measure(machine, line) > 0
        with pytest.raises(ConsoleError, match="its status was 1"):
            machine.check("bench read /none")
        assert "/none: no such file or directory" in machine.console
        assert machine.power_off().status == 0
    image.check_image(guests.disk("Linux"))
    assert image.read_file(guests.disk("Linux"), "/write") == 65536 * b"x"


def test_linux_reads_ahead_as_ondemand_does(tmp_path: Path) -> None:
    if not debian.FOLDER.exists():
        pytest.skip("Linux has not been fetched here: `sluice bench --linux` does so")
    make(ROOT, "SETUP=no", *(f"build/guest/{name}" for name in ("init", *as_linux.NEEDED)))
    with as_linux.make_machine(debian.get_kernel(), tmp_path) as machine:
        machine.wait_prompt()
        asked = [as_linux.ask_reads(machine, case) for case in as_linux.READS]
        age = as_linux.Ages("at once", 2, 0, "bench null 1", 0, ((2, 5),))
        assert as_linux.ask_ages(machine, age)[0]
        machine.power_off()
    assert [line for same, line in asked if not same] == []
