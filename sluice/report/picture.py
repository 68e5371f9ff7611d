"""Pictures of figures: SVG and PNG files, and SVG within a page.

A picture in a file may stand alone, so it has its title and a line about its origin. Within a page
it has neither, because the page has them. There its colours follow the page's (style.css), and its
ids are unique, because all pictures share the page's.
"""

import base64
import re
from html import escape

import vl_convert

from sluice.report import theme
from sluice.report.figures import Figure

SCALE = 2  # pixels of a PNG to a unit: sharp on a slide
LARGEST = 600_000  # bytes of an SVG within a page; a larger one becomes a PNG there
PAGE_SCALE = 1  # of that
HEAD = 64  # height of a title and a subtitle
OWN_ID = re.compile(r'((?:id|href)="#?|url\(#)((?:clip|gradient)[\w-]*)')


def for_pointer(part: object) -> bool:
    """True if a part of a specification shows nothing until the pointer is over something."""
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


def still(spec: object) -> object:
    """The specification without the parts that answer the pointer: the same picture in half the
    time."""
    if isinstance(spec, list):
        return [still(part) for part in spec if not for_pointer(part)]
    if isinstance(spec, dict):
        return {name: still(part) for name, part in spec.items() if name != "tooltip"}
    return spec


def drawn(spec: dict) -> str:
    """The SVG of a specification."""
    return vl_convert.vegalite_to_svg(still(spec))


def size(svg: str) -> tuple[float, float]:
    """Width and height of an SVG."""
    width, height = (re.search(rf'\b{name}="([\d.]+)"', svg)[1] for name in ("width", "height"))
    return float(width), float(height)


def headed(svg: str, title: dict) -> str:
    """The SVG below its title and subtitle."""
    width, height = size(svg)
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


def png(svg: str) -> bytes:
    return vl_convert.svg_to_png(svg, scale=SCALE)


def inline(svg: str, name: str, title: str) -> str:
    """The SVG for a page, with unique ids and a name for screen readers."""
    said = f'role="img" aria-label="{escape(title)}"'
    if len(svg) > LARGEST:
        data = base64.b64encode(vl_convert.svg_to_png(svg, scale=PAGE_SCALE)).decode()
        width, height = size(svg)
        place = f'width="{width:g}" height="{height:g}"'
        return f'<img {said} alt="{escape(title)}" {place} src="data:image/png;base64,{data}">'
    own = OWN_ID.sub(rf"\g<1>{name}-\g<2>", svg)
    return own.replace("<svg ", f"<svg {said} ", 1)


def within(figure: Figure, svg: str) -> str:
    """A figure's pictures in a page: the wide one and, if there is one, the narrow one."""
    wide = inline(svg, figure.name, figure.title)
    if not figure.narrow:
        return f'<div class="still scaled">{wide}</div>'
    narrow = inline(drawn(figure.narrow), f"{figure.name}-narrow", figure.title)
    return f'<div class="still wide">{wide}</div><div class="still narrow">{narrow}</div>'
