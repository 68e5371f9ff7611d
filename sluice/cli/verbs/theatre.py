"""sluice theatre: a page, or an animation for a slide, of a run as it went, or of two."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sluice.cli import options
from sluice.cli.status_line import show_step
from sluice.cli.verb import DRIVES, Needs, needs_of_engine, verb

if TYPE_CHECKING:
    from sluice.theatre.scene import Scene


def build_scenes(
    name: str,
    size: str,
    number: int | None,
    second: int | None,
    folder: Path,
    engine: str = options.MACHINE,
) -> list["Scene"]:
    """Return what there is to be shown of a run, or of two. Raises BadExperiment and RunFailed."""
    from sluice.cli.verbs.debug import load_run
    from sluice.debug.chain import Explainer
    from sluice.experiment.load import load
    from sluice.experiment.selection import find_experiment_file, select_run
    from sluice.theatre.scene import build_scene

    path = find_experiment_file(name)
    experiment = load(path, size)
    # Both runs are looked up before one is made, so that a wrong number is reported at once.
    numbers = [select_run(experiment, number).number]
    if second is not None:
        numbers.append(select_run(experiment, second, "--second").number)
    runs = [load_run(name, size, one, folder, engine) for one in numbers]
    return [build_scene(Explainer(run), path.stem, size) for run in runs]


def output_path(name: str, size: str, numbers: list[int], folder: Path, suffix: str) -> Path:
    """Return the file that is written if no other is named; its folder is made."""
    from sluice.experiment.selection import find_experiment_file

    words = "-".join(f"{n:03}" for n in numbers)
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{find_experiment_file(name).stem}-{size}-{words}{suffix}"


def write_page(scenes: list["Scene"], out: Path, beside: Path) -> None:
    """Write the page. beside: where a report opens it; if a page is there, it is replaced."""
    from sluice.experiment.files import write_atomically
    from sluice.theatre.staging import theatre_page

    text = theatre_page(scenes)
    write_atomically(out, text)
    if beside.exists():
        write_atomically(beside, text)
    print(f"theatre: {out}")


def write_animation(scenes: list["Scene"], out: Path) -> None:
    """Write the animation, an animated PNG."""
    from sluice.experiment.files import write_atomically
    from sluice.theatre.motion import build_animation

    with show_step("") as tell:
        image = build_animation(scenes, tell)
    write_atomically(out, image)
    print(f"animation: {out}")


def write_machines(
    name: str, size: str, number: int | None, out: Path | None, folder: Path, engine: str
) -> None:
    """Write the page of a run with a server."""
    from sluice.cli.verbs.debug import load_run
    from sluice.debug.remote import RemoteExplainer
    from sluice.experiment.files import write_atomically
    from sluice.host.paths import BUILD
    from sluice.theatre.machine_lanes import machines_page

    kept = load_run(name, size, number, folder, engine)
    page = machines_page(RemoteExplainer(kept))
    out = out or output_path(name, size, [kept.run.number], BUILD / "theatre", ".html")
    out.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(out, page)
    print(f"theatre: {out}")


def has_server(name: str, size: str) -> bool:
    """Return whether the runs of an experiment have a server. Raises BadExperiment."""
    from sluice.experiment.load import load
    from sluice.experiment.selection import find_experiment_file

    return "server" in load(find_experiment_file(name), size).runs[0].config


def show_runs(
    name: str,
    size: str,
    number: int | None,
    second: int | None,
    animation: bool,
    out: Path | None,
    folder: Path,
    engine: str,
) -> bool:
    """Write the page or the animation. Returns true."""
    from sluice.experiment.load import load
    from sluice.experiment.schema import BadExperiment
    from sluice.experiment.selection import find_experiment_file
    from sluice.host.out import expect_file
    from sluice.host.paths import BUILD
    from sluice.report.page import THEATRE

    if out:
        expect_file(out)
    if has_server(name, size):
        if second is not None or animation:
            raise BadExperiment(
                f"{name}: a run with a server is shown alone, in a page: leave --second and "
                "--animation away"
            )
        write_machines(name, size, number, out, folder, engine)
        return True
    scenes = build_scenes(name, size, number, second, folder, engine)
    numbers = [n for n in (number, second) if n is not None]
    kind, suffix = ("animation", ".png") if animation else ("theatre", ".html")
    if out:
        out.parent.mkdir(parents=True, exist_ok=True)
    else:
        out = output_path(name, size, numbers, BUILD / kind, suffix)
    if animation:
        write_animation(scenes, out)
    else:
        results = folder / load(find_experiment_file(name), size).name
        write_page(scenes, out, results / THEATRE)
    return True


@verb(
    needs_of_engine(Needs(("report",), ("all", *DRIVES))),
    "sluice theatre mogul-4.1-fast --size quick --run 11 --second 16",
    "nothing was written; traces that were made are kept",
    options.check_run,
)
def theatre(
    name: options.ExperimentName,
    run: options.Run = None,
    second: options.Second = None,
    size: options.Size = options.FULL,
    animation: Annotated[
        bool,
        typer.Option("--animation", help="Write a short animated PNG for a slide, and no page."),
    ] = False,
    out: options.Out = None,
    folder: options.Folder = None,
    engine: options.Engine = options.MACHINE,
) -> int:
    """Write a page that shows a run, or two, as it went: the head, the queue, the cache and the
    reads."""
    from sluice.experiment import commandline
    from sluice.experiment.files import FOLDER

    return commandline.exit_status(
        lambda: show_runs(name, size, run, second, animation, out, folder or FOLDER, engine)
    )
