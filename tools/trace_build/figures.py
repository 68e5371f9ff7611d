"""Describe a compilation: sizes of files, pieces of writing, computing, lifetimes.

The process that made a file is found by its files: the preprocessor (cpp) reads one source and
writes its expansion (.i), the compiler (cc) reads that and writes assembly (.s), the assembler (as)
reads that and writes the object (.o).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePath
from statistics import mean

import numpy as np

from grade.code import elf
from tools.trace_build.processes import Process, Run, Trace, Written
from tools.trace_build.times import Times

NOT_IN_SECTIONS = (elf.NOBITS, elf.SYMTAB, elf.STRTAB)
MB = 10**6
PASSES = 3  # of the compiler: cpp, cc, as


class NoSuchBuild(ValueError):
    """The trace is not of the build that this module describes."""


@dataclass(frozen=True)
class Source:
    """A source and what was made of it, in bytes; the CPU time of the passes, in us."""

    path: str
    bytes: int
    expanded: int
    assembly: int
    object: int
    cpp_us: int
    cc_us: int
    as_us: int
    cc_first: float  # the part of its life after which cc began to write
    headers: frozenset[str]
    runs: tuple[Run, ...]  # of the object

    @property
    def folder(self) -> str:
        """The folder of the source."""
        return str(PurePath(self.path).parent)


@dataclass(frozen=True)
class Figures:
    """A whole build. Shares are parts of 1."""

    sources: tuple[Source, ...]  # by folder
    headers: dict[str, int]  # bytes, by path
    archived: frozenset[str]  # the folders whose objects became an archive
    cpp_first: float  # the part of a process's life after which it began to write: the mean
    as_first: float
    archive_us_per_mb: float  # CPU time of ar for each MB of its objects
    link_us_per_mb: float
    link_read: float  # bytes that the linker read of objects and archives, by their size
    sections: tuple[float, ...]  # of the linked program, each by the bytes of all objects
    symbols: float  # its tables of symbols and names, by the same bytes
    calls: dict[str, tuple[float, ...]]  # the sizes of all write calls, by the kind of file
    linked_runs: tuple[int, ...]  # the sizes of the linker's runs
    lifetimes_s: dict[str, tuple[float, ...]]  # of temporary files, by kind

    @property
    def typical_runs(self) -> list[tuple[float, float]]:
        """The places and lengths of the writes of a typical object, relative to its size.

        The typical object has the median size.
        """
        typical = sorted(self.sources, key=lambda source: source.object)[len(self.sources) // 2]
        return [(run.at / typical.object, run.bytes / typical.object) for run in typical.runs]


def file_kind(path: str) -> str:
    """Return the kind of a file that a build writes: i, s, o, a, elf; t for ar's temporary file."""
    return PurePath(path).suffix.removeprefix(".") or "t"


def find_writers(processes: list[Process], suffix: str) -> dict[str, tuple[Process, Written]]:
    """Return the writers of the files with this suffix, by the file's path.

    A writer is the process, with what it wrote.
    """
    return {
        path: (process, written)
        for process in processes
        for path, written in process.written.items()
        if path.endswith(suffix)
    }


def files_read(process: Process, suffix: str) -> list[str]:
    """Return the files with this suffix that a process read."""
    return [path for path in process.read if path.endswith(suffix)]


def describe_sources(trace: Trace, times: Times, top: Path) -> tuple[Source, ...]:
    """Return all C sources of the build, by folder. Raises NoSuchBuild if there is none."""
    expansions, assemblies = (
        find_writers(trace.processes, ".i"),
        find_writers(trace.processes, ".s"),
    )
    found = []
    for path, (assembler, made) in find_writers(trace.processes, ".o").items():
        read = [name for name in files_read(assembler, ".s") if name in assemblies]
        if assembler.program != "as" or not read:
            continue
        compiler, assembly = assemblies[read[0]]
        expanded = [name for name in files_read(compiler, ".i") if name in expansions]
        if not expanded:
            continue  # it was written in assembly
        preprocessor, expansion = expansions[expanded[0]]
        [source] = files_read(preprocessor, ".c")
        passes = times.passes.get(PurePath(path).name, ())
        if len(passes) != PASSES:
            raise NoSuchBuild(f"{path}: {len(passes)} passes have CPU times, not {PASSES}")
        found.append(
            Source(
                str(PurePath(source).relative_to(top)),
                preprocessor.read[source],
                expansion.bytes,
                assembly.bytes,
                made.bytes,
                *passes,
                compiler.share_before(assembly.began_s),
                frozenset(files_read(preprocessor, ".h")),
                tuple(made.runs),
            )
        )
    if not found:
        raise NoSuchBuild("no source was preprocessed, compiled and assembled")
    return tuple(sorted(found, key=lambda source: source.path))


def header_sizes(trace: Trace) -> dict[str, int]:
    """Return the size of each header: the most that a process read of it."""
    sizes: dict[str, int] = {}
    for process in trace.processes:
        for path in files_read(process, ".h"):
            sizes[path] = max(sizes.get(path, 0), process.read[path])
    return dict(sorted(sizes.items()))


def mean_share_before_write(processes: dict[str, tuple[Process, Written]], program: str) -> float:
    """Return the mean part of a process's life after which it began to write."""
    return mean(
        process.share_before(written.began_s)
        for process, written in processes.values()
        if process.program == program
    )


def group_by_kind(values: Iterable[tuple[str, float]]) -> dict[str, tuple[float, ...]]:
    """Return the values of files, sorted, by the kind of file."""
    found: dict[str, list[float]] = {}
    for path, value in values:
        found.setdefault(file_kind(path), []).append(value)
    return {name: tuple(sorted(group)) for name, group in found.items()}


def describe_build(trace: Trace, times: Times, top: Path, linked: Path) -> Figures:
    """Return the description of a traced build of a tree at `top`, which made the program `linked`.

    times: the times of the same build without strace.
    """
    sources = describe_sources(trace, times, top)
    archivers = [process for process in trace.processes if process.program.endswith("-ar")]
    [(linker, _)] = find_writers(trace.processes, linked.name).values()
    whole = sum(source.object for source in sources)
    packed = [path for process in archivers for path in find_writers([process], ".a")]
    archived = {PurePath(path).stem.replace("-", "/") for path in packed}
    archived_bytes = sum(source.object for source in sources if source.folder in archived)
    parts = elf.read(linked).sections
    inside = [part.size for part in parts if part.size and part.type not in NOT_IN_SECTIONS]
    tables = sum(part.size for part in parts if part.type in (elf.SYMTAB, elf.STRTAB))
    read = [path for path in linker.read if PurePath(path).suffix in (".o", ".a")]
    written = [pair for process in trace.processes for pair in process.written.items()]
    return Figures(
        sources=sources,
        headers=header_sizes(trace),
        archived=frozenset(archived),
        cpp_first=mean_share_before_write(find_writers(trace.processes, ".i"), "cc1"),
        as_first=mean_share_before_write(find_writers(trace.processes, ".o"), "as"),
        archive_us_per_mb=times.archive_us / archived_bytes * MB,
        link_us_per_mb=times.link_us / whole * MB,
        link_read=sum(linker.read[path] for path in read) / whole,
        sections=tuple(size / whole for size in inside),
        symbols=tables / whole,
        calls=group_by_kind((path, size) for path, one_file in written for size in one_file.calls),
        linked_runs=tuple(sorted(run.bytes for run in linker.written[str(linked)].runs)),
        lifetimes_s=group_by_kind(trace.lifetimes_s.items()),
    )


def deciles(values: tuple[float, ...]) -> list[float]:
    """Return the least, the deciles and the largest of some values."""
    return [float(value) for value in np.percentile(values, range(0, 101, 10))]
