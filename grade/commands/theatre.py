"""`make theatre`: write a page that shows a run as it went, or two runs side by side.

E= names the experiment, SIZE= its size, N= the run, and N2= another one of the same experiment. The
page is one file and opens offline.
"""

import sys
from pathlib import Path

from grade.commands.export import BadChoice, experiment_file
from grade.commands.replay import chosen, options
from grade.host.interrupt import stoppable
from grade.host.paths import BUILD
from grade.measure.files import write_whole
from grade.measure.run import RunFailed
from grade.measure.schema import BadExperiment
from grade.replay.chain import Explainer
from grade.theatre.scene import scene
from grade.theatre.staging import staged


def main() -> int:
    """Returns the exit status: 2 for a wrong choice, 1 if a run failed."""
    parser = options("theatre", __doc__)
    parser.add_argument("--second", type=int, help="the number of another run")
    parser.add_argument("--out", type=Path, help="the page")
    choice = parser.parse_args()
    numbers = [choice.run] + ([choice.second] if choice.second else [])
    try:
        name = experiment_file(choice.name).stem
        made = [scene(Explainer(chosen(choice, n)), name, choice.size) for n in numbers]
    except (BadChoice, BadExperiment, RunFailed) as error:
        print(error, file=sys.stderr)
        return 1 if isinstance(error, RunFailed) else 2
    words = "-".join(f"{n:03}" for n in numbers)
    out = choice.out or BUILD / "theatre" / f"{name}-{choice.size}-{words}.html"
    out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(out, staged(made))
    print(f"theatre: {out}")
    return 0


if __name__ == "__main__":
    sys.exit(stoppable(main, "no page was written; traces that were made are kept"))
