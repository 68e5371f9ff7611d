"""kernel.ld puts the functions of a cached read side by side: QEMU jumps faster within a page."""

import re

from sluice.host.paths import KERNEL, ROOT

SCRIPT = ROOT / "kernel" / "machine" / "kernel.ld"
PAGE_BYTES = 4096
MOST_PAGES = 3  # two with gcc 12 at -O2; another compiler's functions may be a little longer


def test_the_functions_of_a_cached_read_lie_side_by_side() -> None:
    """A renamed function would leave its place without a word."""
    named = set(re.findall(r"\.text\.(\w+)", SCRIPT.read_text(encoding="utf-8")))
    lines = KERNEL.with_suffix(".text").read_text(encoding="utf-8").splitlines()
    places = {name: int(address, 16) for address, _, name in map(str.split, lines)}
    assert len(named) > 20
    assert named <= places.keys()
    begin = places["text_start"]
    apart = {name for name in named if places[name] - begin >= MOST_PAGES * PAGE_BYTES}
    assert not apart
