"""`make theatre`: write a page that shows a run as it went, or two runs side by side.

E= names the experiment, SIZE= its size, N= the run, and N2= another one of the same experiment. The
page is one file and opens offline.
"""

import argparse
import sys
from pathlib import Path

from sluice.cli.debug import chosen, options
from sluice.cli.export import BadChoice, choose_run, experiment_file
from sluice.debug.chain import Explainer
from sluice.experiment import commandline
from sluice.experiment.files import write_whole
from sluice.experiment.load import load
from sluice.host.interrupt import stoppable
from sluice.host.out import expect_file
from sluice.host.paths import BUILD
from sluice.report import page
from sluice.theatre.scene import scene
from sluice.theatre.staging import staged


def choose(goal: str, about: str | None) -> argparse.Namespace:
    """The command line of a goal that shows one run or two."""
    parser = options(goal, about)
    parser.add_argument("--second", type=int, help="the number of another run")
    parser.add_argument("--out", type=Path, help="the file to be written")
    return parser.parse_args()


def numbers(choice: argparse.Namespace) -> list[int]:
    return [choice.run] + ([] if choice.second is None else [choice.second])


def scenes(choice: argparse.Namespace) -> list[dict]:
    """What there is to be shown of the runs. Raises BadChoice, BadExperiment and RunFailed."""
    experiment = load(experiment_file(choice.name), choice.size)
    asked = list(zip(numbers(choice), ("N", "N2"), strict=False))
    for number, variable in asked:  # before any run is made
        choose_run(experiment, number, variable)
    runs = [chosen(choice, number) for number, _ in asked]
    name = experiment_file(choice.name).stem
    return [scene(Explainer(run), name, choice.size) for run in runs]


def out_of(choice: argparse.Namespace, folder: Path, suffix: str) -> Path:
    """The file to be written; its folder is made."""
    words = "-".join(f"{n:03}" for n in numbers(choice))
    name = f"{experiment_file(choice.name).stem}-{choice.size}-{words}{suffix}"
    out = choice.out or folder / name
    out.parent.mkdir(parents=True, exist_ok=True)
    return out


def do(choice: argparse.Namespace) -> bool:
    """Write the page, also to where a report opens it."""
    if choice.out:
        expect_file(choice.out)
    made = scenes(choice)
    out = out_of(choice, BUILD / "theatre", ".html")
    text = staged(made)
    write_whole(out, text)
    beside = choice.folder / load(experiment_file(choice.name), choice.size).name / page.THEATRE
    if beside.exists():
        write_whole(beside, text)
    print(f"theatre: {out}")
    return True


def main() -> int:
    """Returns the exit status: 2 for a wrong choice, 1 if a run failed."""
    choice = choose("theatre", __doc__)
    return commandline.status(lambda: do(choice), (BadChoice,))


if __name__ == "__main__":
    sys.exit(stoppable(main, "no page was written; traces that were made are kept"))
