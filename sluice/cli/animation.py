"""`make animation`: write a short animation of a run, or of two side by side, for a slide.

E=, SIZE=, N= and N2= are those of `make theatre`. The file is an animated PNG, which browsers and
programs for slides play.
"""

import argparse
import sys

from sluice.cli.export import BadChoice
from sluice.cli.theatre import choose, out_of, scenes
from sluice.experiment import commandline
from sluice.experiment.files import write_whole
from sluice.host.interrupt import stoppable
from sluice.host.out import expect_file
from sluice.host.paths import BUILD
from sluice.theatre.motion import animated


def tell(words: str) -> None:
    """Show the progress to a person."""
    if sys.stderr.isatty():
        print(f"\033[K{words}", end="\r", file=sys.stderr, flush=True)


def do(choice: argparse.Namespace) -> bool:
    """Write the animation."""
    if choice.out:
        expect_file(choice.out)
    made = scenes(choice)
    out = out_of(choice, BUILD / "animation", ".png")
    write_whole(out, animated(made, tell))
    print(f"animation: {out}")
    return True


def main() -> int:
    """Returns the exit status: 2 for a wrong choice, 1 if a run failed."""
    choice = choose("animation", __doc__)
    return commandline.status(lambda: do(choice), (BadChoice,))


if __name__ == "__main__":
    sys.exit(stoppable(main, "no animation was written; traces that were made are kept"))
