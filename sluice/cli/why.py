"""`make why`: say what a read of an experiment's run waited for.

E= names the experiment, SIZE= its size, and N= the run. READ= is `longest`, the number of a read in
the measured part, or a time as 12.345s: the longest of the reads that waited then. The times of the
causes add up to the response time exactly.
"""

import argparse
import sys

from sluice.cli.debug import chosen, options
from sluice.cli.export import BadChoice, experiment_file
from sluice.debug.chain import Explainer
from sluice.debug.instant import LONGEST, BadInstant, event_numbers, read_number, reads
from sluice.debug.narrative import tell
from sluice.experiment import commandline
from sluice.experiment.load import FULL
from sluice.host.interrupt import stoppable


def do(choice: argparse.Namespace) -> bool:
    """Say what the read waited for, and how to see it."""
    kept = chosen(choice, choice.run)
    number = read_number(kept, choice.read)
    read = reads(kept)[number - 1]
    print(tell(Explainer(kept), number, read))
    event = event_numbers(kept, read)["queued"]
    name = experiment_file(choice.name).stem
    size = "" if choice.size == FULL else f" SIZE={choice.size}"
    print(
        f"\nTo see the machine when it is queued: make replay E={name}{size} "
        f"N={kept.run.number} AT=event:{event}"
    )
    return True


def main() -> int:
    """Returns the exit status: 2 for a wrong choice, 1 if the run failed."""
    parser = options("why", __doc__)
    parser.add_argument("--read", default=LONGEST, help="a read")
    choice = parser.parse_args()
    return commandline.status(lambda: do(choice), (BadChoice, BadInstant))


if __name__ == "__main__":
    sys.exit(stoppable(main, "the run's trace is kept, if it was made"))
