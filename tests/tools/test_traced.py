"""The output of strace and gcc's times are read, and described as the figures of a build.

A build runs, for each source, the passes cpp and cc (both are cc1) and as; then an archiver (ar)
and a linker (ld). strace prints a line for each system call: process, time, call, result. A file
descriptor has its path in <>. The texts below are such output, of builds that are made up.
"""

import shutil
import subprocess
from pathlib import Path

import pytest

from grade.code import elf
from sluice.host.paths import KERNEL, ROOT
from tools.trace_build import calls, compilation, figures, processes, table, times
from tools.trace_build.calls import BadTrace, Call
from tools.trace_build.figures import NoSuchBuild
from tools.trace_build.processes import Run
from tools.trace_build.times import BadTimes

pytestmark = pytest.mark.native

TWO_AT_ONCE = """\
7  10.000001 openat(AT_FDCWD</t>, "/t/a,b", O_RDWR|O_CREAT, 0600) = 3</t/a,b>
7  10.000002 wait4(-1,  <unfinished ...>
8  10.000003 write(1</t/x (deleted)>, ""..., 5) = 5
8  10.000004 +++ exited with 0 +++
7  10.000005 <... wait4 resumed>[{WIFEXITED(s) && WEXITSTATUS(s) == 0}], 0, NULL) = 8
7  10.000006 --- SIGCHLD {si_signo=SIGCHLD, si_pid=8} ---
7  10.000007 unlink("/t/none") = -1 ENOENT (No such file or directory)
7  10.000008 exit_group(0) = ?
"""


def test_each_call_is_read_once_at_the_time_it_began():
    """A call that others interrupt has two lines, "unfinished" and "resumed". Signals and exits
    are no calls."""
    assert list(calls.parse_calls(TWO_AT_ONCE.splitlines())) == [
        Call(
            7,
            10.000001,
            "openat",
            'AT_FDCWD</t>, "/t/a,b", O_RDWR|O_CREAT, 0600',
            3,
            "/t/a,b",
        ),
        Call(8, 10.000003, "write", '1</t/x (deleted)>, ""..., 5', 5),
        Call(7, 10.000002, "wait4", "-1, [{WIFEXITED(s) && WEXITSTATUS(s) == 0}], 0, NULL", 8),
        Call(7, 10.000007, "unlink", '"/t/none"', -1),
    ]


@pytest.mark.parametrize("line", ["no process", "7  1.0 <... read resumed>) = 3"])
def test_what_strace_does_not_write_is_refused_by_its_line(line: str):
    with pytest.raises(BadTrace, match="line 2: "):
        list(calls.parse_calls(["1  1.0 close(3</t/x>) = 0", line]))


WRITER = """\
9 1.0 execve("/usr/bin/as", [...], 0x7 /* 9 vars */) = 0
9 2.0 openat(AT_FDCWD</t>, "/t/x.o", O_RDWR|O_CREAT|O_TRUNC, 0666) = 4</t/x.o>
9 3.0 write(4</t/x.o>, ""..., 100) = 100
9 3.1 write(4</t/x.o>, ""..., 20) = 20
9 3.2 lseek(4</t/x.o>, 0, SEEK_SET) = 0
9 3.3 read(4</t/x.o>, ""..., 4096) = 64
9 3.4 write(4</t/x.o>, ""..., 8) = 8
9 3.5 lseek(4</t/x.o>, 200, SEEK_SET) = 200
9 3.6 write(4</t/x.o>, ""..., 1) = 1
9 3.7 openat(AT_FDCWD</t>, "/t/in.s", O_RDONLY) = 5</t/in.s>
9 3.8 read(5</t/in.s>, ""..., 4096) = 7
9 4.0 unlink("/t/x.o") = 0
9 5.0 unlink("/t/in.s") = 0
"""


def test_a_file_is_written_in_runs_that_end_where_the_program_seeks():
    trace = processes.follow_calls(calls.parse_calls(WRITER.splitlines()))
    [process] = trace.processes
    assert process.program == "as"
    assert process.read == {"/t/x.o": 64, "/t/in.s": 7}
    written = process.written["/t/x.o"]
    assert written.runs == [Run(0, 120), Run(64, 8), Run(200, 1)]
    assert written.calls == [100, 20, 8, 1]
    assert written.bytes == 201
    # The process lived from 1.0 to 5.0, and began to write at 3.0.
    assert process.share_before(written.began_s) == pytest.approx(0.5)


def test_only_files_that_were_created_have_lifetimes():
    assert processes.follow_calls(calls.parse_calls(WRITER.splitlines())).lifetimes_s == {
        "/t/x.o": 2.0
    }


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
def test_a_traced_program_is_read_as_it_was_written(tmp_path: Path):
    """The shell writes 5 and then 4 bytes, and cat reads 9."""
    script = "printf 12345 >x; printf 6789 >>x; cat x; rm x"
    options = ["-f", "-ttt", "-y", "-s", "0", "-e", f"trace={','.join(compilation.CALLS)}"]
    words = ["strace", *options, "-o", str(tmp_path / "out"), "sh", "-c", script]
    subprocess.run(words, cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    trace = processes.follow_calls(calls.parse_calls((tmp_path / "out").read_text().splitlines()))
    shell, cat = (next(p for p in trace.processes if p.program == name) for name in ("sh", "cat"))
    assert shell.written[f"{tmp_path}/x"].calls == [5, 4]
    assert cat.read[f"{tmp_path}/x"] == 9


TIMES = """\
0.010000 0.002000 /usr/lib/cc1 -E a.c -o /t/1.i
0.100000 0.000500 /usr/lib/cc1 -fpreprocessed /t/1.i -o /t/1.s
0.000000 0.003000 /usr/bin/as -o /t/a.o /t/1.s
0.001000 0.001000 cross-ar rcs /t/lib.a /t/a.o
0.002000 0.000000 /usr/bin/as -o /t/b.o /t/2.s
0.020000 0.010000 /usr/lib/collect2 -o /t/kernel.elf /t/a.o
"""


def test_the_passes_of_a_source_are_those_up_to_the_assembler():
    read = times.parse_times(TIMES.splitlines())
    assert read.passes == {"a.o": (12000, 100500, 3000), "b.o": (2000,)}
    assert (read.archive_us, read.link_us) == (2000, 30000)


@pytest.mark.parametrize("line", ["", "a b c", "0.1 0.2"])
def test_a_line_without_times_and_command_is_refused(line: str):
    with pytest.raises(BadTimes, match="line 1: "):
        times.parse_times([line])


def build_of(linked: Path) -> str:
    """Return what strace says of a build with one source, one archive and a linked program."""
    said = []

    def process(pid: int, program: str, *lines: str) -> None:
        """Add a process that runs a program and makes these calls."""
        said.append(f'{pid} {pid}.0 execve("/bin/{program}", [...], 0x7 /* 1 vars */) = 0')
        said.extend(f"{pid} {pid}.{i + 1} {line}" for i, line in enumerate(lines))
        said.append(f"{pid} {pid}.9 close(9</t/z>) = 0")

    def moved(what: str, path: str, bytes_: int) -> str:
        """Return a call that reads or writes so many bytes of a file."""
        return f'{what}(4<{path}>, ""..., {bytes_}) = {bytes_}'

    process(
        1,
        "cc1",
        moved("read", "/top/p/a.c", 30),
        moved("read", "/top/p/a.h", 10),
        "lseek(4</t/1.i>, 0, SEEK_SET) = 0",
        moved("write", "/t/1.i", 40),
    )
    process(2, "cc1", moved("read", "/t/1.i", 40), moved("write", "/t/1.s", 100))
    process(3, "as", moved("read", "/t/1.s", 100), moved("write", "/t/a.o", 10**6))
    process(4, "cross-ar", moved("read", "/t/a.o", 10**6), moved("write", "/t/p.a", 10**6))
    process(5, "ld", moved("read", "/t/p.a", 10**6), moved("write", str(linked), 500))
    return "\n".join(line.replace("(4<", f"({i}<") for i, line in enumerate(said))


@pytest.fixture
def said() -> figures.Figures:
    """Return the figures of that build, with TIMES. It links the kernel, whose sections are
    known."""
    trace = processes.follow_calls(calls.parse_calls(build_of(KERNEL).splitlines()))
    return figures.describe_build(
        trace, times.parse_times(TIMES.splitlines()), Path("/top"), KERNEL
    )


def test_a_source_is_followed_through_its_passes(said: figures.Figures):
    """The passes are those of build_of: a.c and its header are preprocessed, compiled and
    assembled, and the object has 10^6 bytes. TIMES has the us of each pass."""
    [source] = said.sources
    assert (source.path, source.folder) == ("p/a.c", "p")
    assert (source.bytes, source.expanded, source.assembly) == (30, 40, 100)
    assert (source.object, source.runs) == (10**6, (Run(0, 10**6),))
    assert (source.cpp_us, source.cc_us, source.as_us) == (12000, 100500, 3000)
    assert source.headers == {"/top/p/a.h"}
    # A process lives for 0.9 s. This share of its time has passed when it writes its output.
    assert source.cc_first == pytest.approx(2 / 9)
    assert said.cpp_first == pytest.approx(4 / 9)


def test_archives_and_the_linker_are_told_by_the_bytes_of_objects(said: figures.Figures):
    """The object has 10^6 bytes, so times for each MB are those of TIMES. Sections are shares of
    the objects; .bss has no bytes in the file."""
    assert said.archived == {"p"}
    assert said.archive_us_per_mb == pytest.approx(2000)
    assert said.link_us_per_mb == pytest.approx(30000)
    assert said.link_read == pytest.approx(1)
    data = {s.name: s.size for s in elf.read(KERNEL).sections}
    assert data[".text"] / 10**6 in said.sections
    assert data[".bss"] / 10**6 not in said.sections
    assert said.symbols > data[".symtab"] / 10**6


def test_sizes_of_writes_and_lifetimes_are_told_by_the_kind_of_file(said: figures.Figures):
    """A kind is a file's ending, or `t` for other temporary files. Sizes of writes are in bytes,
    lifetimes in seconds."""
    assert said.calls == {"i": (40,), "s": (100,), "o": (10**6,), "a": (10**6,), "elf": (500,)}
    assert said.linked_runs == (500,)
    given = [("/t/a.i", 3.0), ("/t/b.i", 1.0), ("/t/stXYZ", 2.0)]
    assert figures.group_by_kind(given) == {"i": (1.0, 3.0), "t": (2.0,)}


def test_a_build_without_the_passes_is_refused():
    """First the output of strace ends too early, then there are no CPU times."""
    trace = processes.follow_calls(calls.parse_calls(build_of(KERNEL).splitlines()[:8]))
    with pytest.raises(NoSuchBuild, match="no source was"):
        figures.describe_build(trace, times.parse_times([]), Path("/top"), KERNEL)
    trace = processes.follow_calls(calls.parse_calls(build_of(KERNEL).splitlines()))
    with pytest.raises(NoSuchBuild, match=r"a\.o: 0 passes have CPU times, not 3"):
        figures.describe_build(trace, times.parse_times([]), Path("/top"), KERNEL)


def test_the_table_has_a_row_for_each_source_and_a_bit_for_each_header(said: figures.Figures):
    text = table.render_c(said, "one source", "these tools", 2)
    assert "{30, 40, 100, 1000000, 12000, 100500, 3000, 2222, {0x1, 0x0}}" in text
    assert "measured_folders[] = {\n    {1, 1},\n};" in text
    assert "measured_headers[] = {\n    10,\n};" in text
    assert "measured_runs[] = {\n    {0, 10000},\n};" in text
    assert " * - Build: one source.\n * - Tools: these tools.\n" in text


def test_more_headers_than_bits_are_refused(said: figures.Figures):
    with pytest.raises(ValueError, match=r"make HEADER_WORDS of kbuild\.h larger"):
        table.render_c(said, "", "", 0)


def test_masks_go_over_several_words():
    assert table.format_masks([0, 63, 64], 2) == "0x8000000000000001, 0x1"


def test_the_stored_table_is_of_a_whole_build():
    """The command wrote it: each of its tables is there, and its comment has the distributions."""
    text = (ROOT / "user" / "load" / "kbuild" / "measured.c").read_text()
    assert text.count("_count = NELEM(") == 5
    assert text.count("{0x") > 100, "a source has a mask of headers"
    for kind in ("preprocessed", "assembly", "objects", "archives", "the linked program"):
        assert f"{kind} (" in text.replace("\n *  ", "")


def test_without_strace_the_command_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="apt-get install strace"):
        compilation.build_under_strace(tmp_path / "build", tmp_path / "out")


def test_the_compilation_has_the_flags_and_sources_of_the_makefile():
    flags = compilation.command_words("kernel")
    assert "-ffreestanding" in flags
    assert not [word for word in compilation.command_words("link") if word.endswith(".o")]
    named = {str(path) for path in compilation.list_sources()}
    assert {"kernel/cache/bio.c", "kernel/entry.S", "policies/update/aipu.c"} <= named
