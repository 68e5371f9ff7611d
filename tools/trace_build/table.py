"""Writes the description of a build as user/kbuild/measured.c, which kbuild is made from."""

from tools.trace_build.figures import Figures, spread

SHARES = 10000  # a share is written as so many parts of this
WORD_BITS = 64
COLUMN = 76  # of the comment's text

HEAD = """\
/*
 * What a compilation does with files, as measured. `make measure-build` writes
 * this file; user/kbuild/kbuild.h says what each field means.
 *
{facts}
 */
#include "user/lib.h"
#include "user/kbuild/kbuild.h"

// clang-format off
"""
NAMES = {"i": "preprocessed", "s": "assembly", "o": "objects", "a": "archives"}
NAMES |= {"t": "archives' temporary files", "elf": "the linked program"}


def quantity(values: tuple[float, ...], times: float = 1) -> str:
    """The least, the deciles and the largest of sorted values, as words."""
    return " ".join(f"{value * times:.0f}" for value in spread(values))


def wrapped(text: str) -> str:
    """A point of the comment, over as many lines as it needs."""
    lines, line = [], " * -"
    for word in text.split():
        if len(line) + 1 + len(word) > COLUMN:
            lines.append(line)
            line = " *  "
        line += f" {word}"
    return "\n".join([*lines, line])


def facts(figures: Figures) -> list[str]:
    """The distributions, as sentences."""
    sizes = {
        "sources": "bytes",
        "preprocessed files": "expanded",
        "assembly files": "assembly",
        "objects": "object",
    }
    found = [
        f"Sizes of {name}, bytes: "
        f"{quantity(tuple(sorted(getattr(source, field) for source in figures.sources)))}."
        for name, field in sizes.items()
    ]
    found += [
        f"Sizes of write calls, bytes, {NAMES[kind]} ({len(sizes)} calls): {quantity(sizes)}."
        for kind, sizes in sorted(figures.calls.items())
        if kind in NAMES and len(sizes) > 1
    ]
    found.append(
        f"Runs of the linker between two seeks, bytes ({len(figures.linked_runs)} runs): "
        f"{quantity(figures.linked_runs)}."
    )
    found += [
        f"Lifetimes of temporary files, ms, {NAMES[kind]} ({len(times)} files): "
        f"{quantity(times, 1000)}."
        for kind, times in sorted(figures.lifetimes_s.items())
        if kind in NAMES and len(times) > 1
    ]
    why = "Of each distribution these are the least, the nine deciles and the largest."
    return [why, *found]


def masks(numbers: list[int], words: int) -> str:
    """The set of numbers as words of a bit each."""
    bits = sum(1 << number for number in numbers)
    parts = [bits >> WORD_BITS * i & (1 << WORD_BITS) - 1 for i in range(words)]
    return ", ".join(f"{part:#x}" for part in parts)


def parts(shares: list[float]) -> list[int]:
    """Shares in parts of SHARES."""
    return [round(share * SHARES) for share in shares]


def lines(rows: list[str]) -> list[str]:
    """Rows of a table, several on a line where they are short."""
    found: list[str] = []
    for row in rows:
        if found and len(found[-1]) + len(row) < COLUMN:
            found[-1] += f", {row}"
        else:
            found.append(row)
    return found


def array(kind: str, name: str, rows: list[str]) -> str:
    """A table of C and its number of rows."""
    inside = "".join(f"    {line},\n" for line in lines(rows))
    return f"const {kind} {name}[] = {{\n{inside}}};\nconst u64 {name}_count = NELEM({name});\n"


def rendered(figures: Figures, build: str, tools: str, mask_words: int) -> str:
    """The text of user/kbuild/measured.c. Raises ValueError if there are too many headers."""
    if len(figures.headers) > mask_words * WORD_BITS:
        raise ValueError(f"{len(figures.headers)} headers: make HEADER_WORDS of kbuild.h larger")
    place = {path: i for i, path in enumerate(figures.headers)}
    sources = [
        f"{{{s.bytes}, {s.expanded}, {s.assembly}, {s.object}, {s.cpp_us}, {s.cc_us}, {s.as_us}, "
        f"{parts([s.cc_first])[0]}, {{{masks([place[path] for path in s.headers], mask_words)}}}}}"
        for s in figures.sources
    ]
    folders: dict[str, int] = {}
    for source in figures.sources:
        folders[source.folder] = folders.get(source.folder, 0) + 1
    runs = [parts([at, size]) for at, size in figures.typical_runs]
    passes = parts([figures.cpp_first, figures.as_first, figures.link_read, figures.symbols])
    times = [round(figures.archive_us_per_mb), round(figures.link_us_per_mb)]
    tables = [
        array("struct measured_source", "measured_sources", sources),
        array(
            "struct measured_folder",
            "measured_folders",
            [f"{{{n}, {int(path in figures.archived)}}}" for path, n in folders.items()],
        ),
        array("u32", "measured_headers", [str(size) for size in figures.headers.values()]),
        array("struct measured_run", "measured_runs", [f"{{{at}, {size}}}" for at, size in runs]),
        array("u32", "measured_sections", [str(part) for part in parts(list(figures.sections))]),
        "const struct measured_passes measured_passes = "
        f"{{{', '.join(map(str, passes + times))}}};\n",
    ]
    said = [f"Build: {build}.", f"Tools: {tools}.", *facts(figures)]
    head = HEAD.format(facts="\n".join(wrapped(fact) for fact in said))
    return head + "\n" + "\n".join(tables)
