"""Draws miss-ratio curves: Vega-Lite specifications, as those of a report."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sluice.blocks.miss_curve import Curve
from sluice.report import theme
from sluice.report.picture import draw_svg
from sluice.report.theme import Datum, Spec

HEIGHT = 360
LEAST_PERCENT = 0.01


def curve_rows(curves: Mapping[str, Curve], blocks: int, of: str) -> list[Datum]:
    """Return the points of curves, in percent of the trace's blocks and of misses."""
    return [
        {"curve": name, "cache": 100 * size / blocks, "misses": 100 * ratio}
        for name, curve in curves.items()
        for size, ratio in zip(curve.sizes, curve.miss_ratios(of), strict=True)
    ]


def points_spec(rows: list[Datum], names: list[str], of: str) -> Spec:
    """Return the picture of points of curves. names: the curves'; of: the unit of misses."""
    low, high = min(row["cache"] for row in rows), max(row["cache"] for row in rows)
    axis = theme.log_axis(max(low, LEAST_PERCENT), max(high, LEAST_PERCENT))
    return {
        "data": {"values": rows},
        "width": theme.WIDTH,
        "height": HEIGHT,
        "config": theme.CONFIG,
        "mark": {"type": "line", "point": {"size": 20}, "strokeWidth": 2},
        "encoding": {
            "x": {
                "field": "cache",
                "type": "quantitative",
                "title": "cache, % of the blocks that the trace touches",
                "scale": {"type": "log", "nice": False, "padding": 8},
                "axis": axis,
            },
            "y": {
                "field": "misses",
                "type": "quantitative",
                "title": f"misses, % of {of}",
                "scale": {"zero": True},
            },
            "color": {
                "field": "curve",
                "type": "nominal",
                "title": None,
                "scale": {"domain": names, "range": list(theme.ARM_COLOURS[: len(names)])},
            },
        },
    }


def draw_curves(curves: Mapping[str, Curve], blocks: int, of: str = "blocks") -> str:
    """Return the picture of curves as SVG. blocks: the trace's number; of: the unit of misses."""
    return draw_svg(points_spec(curve_rows(curves, blocks, of), list(curves), of))


def draw_ratios(percent: NDArray[np.float64], ratios: Mapping[str, NDArray[np.float64]]) -> str:
    """Return the picture of miss ratios as SVG. percent: sizes in percent of the blocks."""
    rows: list[Datum] = [
        {"curve": name, "cache": float(cache), "misses": 100 * float(ratio)}
        for name, curve in ratios.items()
        for cache, ratio in zip(percent, curve, strict=True)
    ]
    return draw_svg(points_spec(rows, list(ratios), "blocks"))
