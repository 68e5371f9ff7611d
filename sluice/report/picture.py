"""Draw figures as SVG and PNG files, and as SVG within a page.

A picture in a file has a title and a line about its origin, because it may be used alone. Within a
page the page has them. There the picture's colours follow the page's (style.css), and its ids are
unique, because all pictures of a page share one set of ids.
"""

import base64
import re
from html import escape
from typing import Any

import vl_convert

from sluice.host.matching import search_text
from sluice.report import theme
from sluice.report.figures import Figure
from sluice.report.png import shrink
from sluice.report.theme import Spec

SCALE = 2  # pixels of a PNG to a unit: sharp on a slide
LARGEST = 600_000  # bytes of an SVG within a page; a larger one becomes a PNG there
PAGE_SCALE = 1  # pixels of such a PNG to a unit
HEAD = 64  # height of a title and a subtitle
OWN_ID = re.compile(r'((?:id|href)="#?|url\(#)((?:clip|gradient)[\w-]*)')


def is_pointer_only(part: object) -> bool:
    """Return whether a part of a specification shows nothing until the pointer is over
    something."""
    if not isinstance(part, dict):
        return False
    hover = part.get("select", {})
    mark = part.get("mark", {})
    filters = [step.get("filter") for step in part.get("transform", [])]
    return (
        (isinstance(hover, dict) and hover.get("on") == "pointerover")
        or (isinstance(mark, dict) and mark.get("opacity") == 0)
        or any(isinstance(rule, dict) and rule.get("empty") is False for rule in filters)
    )


def remove_pointer_parts(spec: Any) -> Any:
    """Return the specification without the parts that answer the pointer. It gives the same picture
    in half the time."""
    if isinstance(spec, list):
        return [remove_pointer_parts(part) for part in spec if not is_pointer_only(part)]
    if isinstance(spec, dict):
        return {
            name: remove_pointer_parts(part) for name, part in spec.items() if name != "tooltip"
        }
    return spec


def draw_svg(spec: Spec) -> str:
    """Return the SVG of a specification."""
    return vl_convert.vegalite_to_svg(remove_pointer_parts(spec))


def svg_size(svg: str) -> tuple[float, float]:
    """Return the width and height of an SVG."""
    width, height = (
        search_text(re.compile(rf'\b{name}="([\d.]+)"'), svg)[1] for name in ("width", "height")
    )
    return float(width), float(height)


def add_titles(svg: str, title: Spec) -> str:
    """Return the SVG with a title and subtitle above it."""
    width, height = svg_size(svg)
    size_of = f'width="{width:g}" height="{height + HEAD:g}"'
    place = f'{size_of} viewBox="0 0 {width:g} {height + HEAD:g}"'
    words = f'x="16" font-family="{theme.FONT}" fill="{theme.INK}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" version="1.1" {place}>'
        f'<rect {size_of} fill="{theme.PAPER}"/>'
        f'<text y="34" font-size="20" font-weight="bold" {words}>{escape(title["text"])}</text>'
        f'<text y="56" font-size="13" {words}>{escape(title["subtitle"])}</text>'
        f'{svg.replace("<svg ", f"""<svg y="{HEAD}" """, 1)}</svg>'
    )


def render_png(svg: str) -> bytes:
    """Return an SVG as PNG."""
    return vl_convert.svg_to_png(svg, scale=SCALE)


def inline_svg(svg: str, name: str, title: str) -> str:
    """Return the SVG for a page, with unique ids and a name for screen readers; a large one becomes
    a PNG."""
    said = f'role="img" aria-label="{escape(title)}"'
    if len(svg) > LARGEST:
        data = base64.b64encode(shrink(vl_convert.svg_to_png(svg, scale=PAGE_SCALE))).decode()
        width, height = svg_size(svg)
        place = f'width="{width:g}" height="{height:g}"'
        return f'<img {said} alt="{escape(title)}" {place} src="data:image/png;base64,{data}">'
    own = OWN_ID.sub(rf"\g<1>{name}-\g<2>", svg)
    return own.replace("<svg ", f"<svg {said} ", 1)


def pictures_html(figure: Figure, svg: str) -> str:
    """Return a figure's pictures for a page: the wide one and, if there is one, the narrow one."""
    wide = inline_svg(svg, figure.name, figure.title)
    if not figure.narrow:
        return f'<div class="still scaled">{wide}</div>'
    narrow = inline_svg(draw_svg(figure.narrow), f"{figure.name}-narrow", figure.title)
    return f'<div class="still wide">{wide}</div><div class="still narrow">{narrow}</div>'
