"""Write user/load/kbuild/measured.c, the description of a build, from which kbuild makes a load."""

from tools.trace_build.figures import Figures, deciles

SHARES = 10000  # the unit of shares: one part of this many
WORD_BITS = 64
COLUMN = 76  # of the comment's text

HEAD = """\
/*
 * What a compilation does with files, as measured. `make measure-build` writes
 * this file; user/load/kbuild/kbuild.h says what each field means.
 *
{facts}
 */
#include "user/lib.h"
#include "user/load/kbuild/kbuild.h"

// clang-format off
"""
NAMES = {"i": "preprocessed", "s": "assembly", "o": "objects", "a": "archives"}
NAMES |= {"t": "archives' temporary files", "elf": "the linked program"}


def format_deciles(values: tuple[float, ...], times: float = 1) -> str:
    """Return the least, the deciles and the largest of sorted values, as words."""
    return " ".join(f"{value * times:.0f}" for value in deciles(values))


def wrap_point(text: str) -> str:
    """Return a point of the comment, over as many lines as it needs."""
    lines, line = [], " * -"
    for word in text.split():
        if len(line) + 1 + len(word) > COLUMN:
            lines.append(line)
            line = " *  "
        line += f" {word}"
    return "\n".join([*lines, line])


def describe_distributions(figures: Figures) -> list[str]:
    """Return the distributions, as sentences."""
    sizes = {
        "sources": "bytes",
        "preprocessed files": "expanded",
        "assembly files": "assembly",
        "objects": "object",
    }
    found = [
        f"Sizes of {name}, bytes: "
        f"{format_deciles(tuple(sorted(getattr(source, field) for source in figures.sources)))}."
        for name, field in sizes.items()
    ]
    found += [
        f"Sizes of write calls, bytes, {NAMES[kind]} ({len(sizes)} calls): {format_deciles(sizes)}."
        for kind, sizes in sorted(figures.calls.items())
        if kind in NAMES and len(sizes) > 1
    ]
    found.append(
        f"Runs of the linker between two seeks, bytes ({len(figures.linked_runs)} runs): "
        f"{format_deciles(figures.linked_runs)}."
    )
    found += [
        f"Lifetimes of temporary files, ms, {NAMES[kind]} ({len(times)} files): "
        f"{format_deciles(times, 1000)}."
        for kind, times in sorted(figures.lifetimes_s.items())
        if kind in NAMES and len(times) > 1
    ]
    why = "Of each distribution these are the least, the nine deciles and the largest."
    return [why, *found]


def format_masks(numbers: list[int], words: int) -> str:
    """Return the set of numbers as words with a bit for each number."""
    bits = sum(1 << number for number in numbers)
    parts = [bits >> WORD_BITS * i & (1 << WORD_BITS) - 1 for i in range(words)]
    return ", ".join(f"{part:#x}" for part in parts)


def scale_shares(shares: list[float]) -> list[int]:
    """Return shares in parts of SHARES."""
    return [round(share * SHARES) for share in shares]


def join_rows(rows: list[str]) -> list[str]:
    """Return the rows of a table as lines, with several short rows on a line."""
    found: list[str] = []
    for row in rows:
        if found and len(found[-1]) + len(row) < COLUMN:
            found[-1] += f", {row}"
        else:
            found.append(row)
    return found


def format_array(kind: str, name: str, rows: list[str]) -> str:
    """Return a table of C and its number of rows."""
    inside = "".join(f"    {line},\n" for line in join_rows(rows))
    return f"const {kind} {name}[] = {{\n{inside}}};\nconst u64 {name}_count = NELEM({name});\n"


def render_c(figures: Figures, build: str, tools: str, mask_words: int) -> str:
    """Return the text of user/load/kbuild/measured.c.

    Raises ValueError if there are too many headers.
    """
    if len(figures.headers) > mask_words * WORD_BITS:
        raise ValueError(f"{len(figures.headers)} headers: make HEADER_WORDS of kbuild.h larger")
    place = {path: i for i, path in enumerate(figures.headers)}
    sources = [
        f"{{{s.bytes}, {s.expanded}, {s.assembly}, {s.object}, {s.cpp_us}, {s.cc_us}, {s.as_us}, "
        f"{scale_shares([s.cc_first])[0]}, "
        f"{{{format_masks([place[path] for path in s.headers], mask_words)}}}}}"
        for s in figures.sources
    ]
    folders: dict[str, int] = {}
    for source in figures.sources:
        folders[source.folder] = folders.get(source.folder, 0) + 1
    runs = [scale_shares([at, size]) for at, size in figures.typical_runs]
    passes = scale_shares([figures.cpp_first, figures.as_first, figures.link_read, figures.symbols])
    times = [round(figures.archive_us_per_mb), round(figures.link_us_per_mb)]
    tables = [
        format_array("struct measured_source", "measured_sources", sources),
        format_array(
            "struct measured_folder",
            "measured_folders",
            [f"{{{n}, {int(path in figures.archived)}}}" for path, n in folders.items()],
        ),
        format_array("u32", "measured_headers", [str(size) for size in figures.headers.values()]),
        format_array(
            "struct measured_run", "measured_runs", [f"{{{at}, {size}}}" for at, size in runs]
        ),
        format_array(
            "u32", "measured_sections", [str(part) for part in scale_shares(list(figures.sections))]
        ),
        "const struct measured_passes measured_passes = "
        f"{{{', '.join(map(str, passes + times))}}};\n",
    ]
    said = [f"Build: {build}.", f"Tools: {tools}.", *describe_distributions(figures)]
    head = HEAD.format(facts="\n".join(wrap_point(fact) for fact in said))
    return head + "\n" + "\n".join(tables)
