"""`sluice trace curve`: the miss ratios of a trace by the cache's size.

- LRU's curve is exact, from one pass (J. Mattson and others, 1970), or from a sample of the blocks
  (SHARDS: C. Waldspurger and others, FAST 2015), with its error.
- The optimum is L. Belady's (1966): no cache has fewer misses of blocks. For requests and for bytes
  it is no bound.
- The table has the sizes of --sizes; the file and the picture also have sizes between them.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sluice.blocks import batch
from sluice.blocks.batch import Trace
from sluice.blocks.decoded import BLOCK
from sluice.blocks.miss_curve import Curve, Sample, run_curve, run_optimum
from sluice.experiment.aligned import format_table
from sluice.experiment.trace_disk import show_passed
from sluice.host.out import expect_file
from sluice.host.printing import line_width, print_filled
from sluice.sweep.block_replay import describe_trace, parse_sizes
from sluice.sweep.curve_picture import draw_curves
from sluice.sweep.ranges import BadSweep
from sluice.sweep.table_file import expect_table, write_table
from sluice.sweep.warmup import count_warmup, expect_warmup
from sluice.trace.errors import BadTraceFile
from sluice.trace.fit import format_bytes

USUAL_SIZES = "0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100"
POINTS = 60  # sizes of the curve, from the smallest size to the number of all blocks
WIDEST = 80
LRU, SAMPLED, OPTIMUM = "LRU", "LRU, sampled", "optimum"


@dataclass(frozen=True)
class CurveRequest:
    """The options of a command.

    sample: a rate below 1, or a number of blocks; exact: make the exact curve in addition to that
    of a sample.
    """

    trace: Path
    format: str = ""
    count: int | None = None
    sizes: str = ""
    warmup: str = ""
    sample: str = ""
    exact: bool = False
    optimum: bool = True
    out: Path | None = None
    picture: Path | None = None
    folder: Path = batch.FOLDER


@dataclass(frozen=True)
class Curves:
    """The curves of a trace: by name, with the share of the blocks for each size of a curve."""

    found: dict[str, Curve]
    blocks: int

    def percent(self, size: int) -> float:
        """Return a size in percent of the blocks."""
        return 100 * size / self.blocks


def parse_sample(text: str) -> Sample | None:
    """Return the sample that --sample means. Raises BadSweep."""
    if not text:
        return None
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if 0 < number < 1:
        return Sample(rate=number)
    if number >= 1 and number.is_integer():
        return Sample(most=int(number))
    raise BadSweep(
        f"--sample={text}: must be a rate below 1, as 0.01, or a number of blocks, as 8192"
    )


def expect_sampled(text: str, curve: Curve, blocks: int) -> None:
    """Raise BadSweep if a curve is of a sample that no use counts in. Any use that counts gives the
    sample an error, unless all blocks are in the sample. text: the value of --sample; blocks: how
    many there are."""
    if curve.rate < 1 and not curve.error:
        raise BadSweep(
            f"--sample={text}: no use of a block counts in a sample of {curve.rate:.3g} of the "
            f"{blocks:,} blocks: give a larger sample"
        )


def table_sizes(request: CurveRequest, blocks: int) -> dict[int, float]:
    """Return the sizes of the table in blocks, with their percentages; those that are less than one
    block are left out. Raises BadSweep."""
    shares = sorted(parse_sizes(request.sizes or USUAL_SIZES))
    found = {max(round(blocks * share / 100), 0): share for share in shares}
    sizes = {size: share for size, share in found.items() if size}
    if not sizes:
        raise BadSweep(f"--sizes={request.sizes}: less than one of the {blocks} blocks")
    return sizes


def curve_sizes(sizes: list[int], blocks: int) -> list[int]:
    """Return the sizes of a curve: those of the table, and POINTS between the least and all."""
    between = np.geomspace(sizes[0], max(blocks, sizes[0]), POINTS)
    return sorted({*sizes, *(int(n) for n in between)})


def make_curves(request: CurveRequest, trace: Trace, sizes: list[int]) -> Curves:
    """Return the requested curves. Raises BadSweep and CurveFailed."""
    sample, warmup = parse_sample(request.sample), count_warmup(request.warmup, trace)
    every = curve_sizes(sizes, trace.known.blocks)
    found = {}
    if sample:
        # The sampler takes memory for `most` blocks at once; the trace has no more than this.
        most = min(sample.most, trace.known.blocks)
        found[SAMPLED] = run_curve(trace.path, every, warmup, replace(sample, most=most))
        expect_sampled(request.sample, found[SAMPLED], trace.known.blocks)
    if request.exact or not sample:
        found[LRU] = run_curve(trace.path, every, warmup)
    if request.optimum:
        found[OPTIMUM] = run_optimum(trace.path, sizes, warmup)
    return Curves(found, trace.known.blocks)


# ---- what is shown ----


def miss_percent(curve: Curve, of: str) -> dict[int, str]:
    """Return the miss ratios of a curve in percent, by the size."""
    return {
        size: f"{100 * ratio:.2f}"
        for size, ratio in zip(curve.sizes, curve.miss_ratios(of), strict=True)
    }


def table_columns(curves: Curves) -> dict[str, dict[int, str]]:
    """Return the columns of figures of the table, by their heads."""
    columns = {}
    if SAMPLED in curves.found:
        columns["sampled"] = miss_percent(curves.found[SAMPLED], "blocks")
    if LRU in curves.found:
        for of in ("blocks", "requests", "bytes"):
            columns[of] = miss_percent(curves.found[LRU], of)
    if OPTIMUM in curves.found:
        columns["optimum"] = miss_percent(curves.found[OPTIMUM], "blocks")
    return columns


def result_table(curves: Curves, sizes: dict[int, float]) -> list[str]:
    """Return the lines of the table, at most WIDEST characters wide."""
    columns = table_columns(curves)
    cells = [["cache", "size", *columns]]
    for size, share in sizes.items():
        figures = [column[size] for column in columns.values()]
        cells.append([f"{share:g} %", format_bytes(size * BLOCK), *figures])
    return format_table(cells, keys=2, width=min(line_width(), WIDEST))


def error_lines(curves: Curves) -> list[str]:
    """Return the notes about a sample's error."""
    sampled, exact = curves.found.get(SAMPLED), curves.found.get(LRU)
    if not sampled:
        return []
    lines = [
        f"The sample has {sampled.rate:.3g} of the blocks. Its standard error by theory, which it "
        f"estimates itself, is {100 * sampled.error:.2f} points of a percentage at most."
    ]
    if exact:
        pairs = zip(sampled.miss_ratios(), exact.miss_ratios(), strict=True)
        errors = [100 * abs(one - other) for one, other in pairs]
        lines.append(
            f"Its difference from the exact curve: {np.mean(errors):.2f} points on average, "
            f"{max(errors):.2f} at most, at {len(errors)} sizes. It took {sampled.cpu_s:.2f} s and "
            f"{sampled.memory_kb / 1024:,.0f} MiB; the exact curve took {exact.cpu_s:.2f} s and "
            f"{exact.memory_kb / 1024:,.0f} MiB."
        )
    return lines


def notes(curves: Curves, warmup: int) -> list[str]:
    """Return the notes about the table."""
    lines = ["Misses in percent, by LRU: of the uses of blocks of 4 KiB, of requests, of bytes."]
    if LRU not in curves.found:
        lines = ["Misses in percent of the uses of blocks of 4 KiB, by LRU, from a sample."]
    if OPTIMUM in curves.found:
        lines.append("The optimum is Belady's: no cache misses fewer blocks.")
    if warmup:
        lines.append(f"The first {warmup:,} requests fill the cache and do not count.")
    return lines + error_lines(curves)


def flat_rows(curves: Curves) -> list[dict[str, Any]]:
    """Return a dict of plain values for each size of each curve."""
    return [
        {
            "curve": name,
            "cache_percent": curves.percent(size),
            "cache_blocks": size,
            "miss_ratio_blocks": blocks,
            "miss_ratio_requests": None if name == SAMPLED else requests,
            "miss_ratio_reads": None if name == SAMPLED else reads,
            "miss_ratio_bytes": bytes_,
            "standard_error": curve.error,
            "sample_rate": curve.rate,
        }
        for name, curve in curves.found.items()
        for size, blocks, requests, reads, bytes_ in zip(
            curve.sizes,
            *(curve.miss_ratios(of) for of in ("blocks", "requests", "reads", "bytes")),
            strict=True,
        )
    ]


def check_request(request: CurveRequest) -> None:
    """Raise BadTraceFile, BadSweep or BadOut if the request cannot be carried out."""
    expect_table(request.out)
    if request.picture:
        if request.picture.suffix != ".svg":
            raise BadSweep(f"--picture={request.picture}: must end in .svg")
        expect_file(request.picture, "--picture")
    if not request.trace.exists():
        raise BadTraceFile(f"{request.trace}: there is no such file")
    parse_sample(request.sample)
    parse_sizes(request.sizes or USUAL_SIZES)
    expect_warmup(request.warmup)


def execute(request: CurveRequest) -> bool:
    """Make the curves of a trace, and print the table. Returns true. Raises BadTraceFile, BadSweep,
    BadOut and CurveFailed."""
    check_request(request)
    with show_passed(f"reading {request.trace.name}", "requests") as seen:
        trace = batch.prepare(request.trace, request.folder, request.format, request.count, 1, seen)
    print_filled(describe_trace(request.trace.name, trace))
    sizes = table_sizes(request, trace.known.blocks)
    curves = make_curves(request, trace, list(sizes))
    print("\n" + "\n".join(result_table(curves, sizes)) + "\n")
    print_filled(notes(curves, count_warmup(request.warmup, trace)))
    if request.out:
        write_table(request.out, flat_rows(curves))
        print(f"table: {request.out}")
    if request.picture:
        request.picture.write_text(draw_curves(curves.found, curves.blocks), encoding="utf-8")
        print(f"picture: {request.picture}")
    return True
