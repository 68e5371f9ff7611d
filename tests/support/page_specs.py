"""The specifications of the figures that a page's script draws."""

import base64
import re
import zlib

from sluice.host.matching import search_text

LINE = re.compile(r'^const specs = await inflatedValue\("(.*)"\);$', re.M)


def specs_text(page: str) -> str:
    """Return the specifications of a page as JSON."""
    return zlib.decompress(base64.b64decode(search_text(LINE, page)[1])).decode()
