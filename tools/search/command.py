"""`sluice dev search`: visit every state of a small cache, and tell what is wrong in one.

The status is 0 if nothing is wrong, 1 with a counterexample, and 2 if the configuration is refused.
"""

import sys
from dataclasses import dataclass

from sluice.experiment.aligned import format_table
from sluice.host import page_tables
from tools.search import coverage, mutants, path_story, search_page
from tools.search.searcher import FOUND, REFUSED, Configuration, Outcome, replay, run_search

NUMBERS = ("states", "transitions", "depth")
PROGRAMS = ("D0 D1 F", "R2 W0")


@dataclass(frozen=True)
class Request:
    """The command's task: a search, or one path of it (replay), or the mutants."""

    configuration: Configuration
    replay: str = ""
    missed: bool = False  # list the lines that were not reached
    mutants: bool = False
    page: bool = False  # put the figures into the book's page
    jobs: int = 1  # mutants at a time


def describe(configuration: Configuration) -> str:
    """Return the configuration, in lines."""
    c = configuration
    sizes = (
        f"{c.buffers} buffers, {c.blocks} blocks, {c.depth} commands at the device, "
        f"{c.harts} harts, {c.pauses} pauses, {c.failures} failures, "
        f"{c.shortages} shortages of memory{', live' if c.live else ''}"
    )
    programs = [f"  process {n}: {program}" for n, program in enumerate(c.programs, 1)]
    return "\n".join([f"searching {sizes}", f"  {c.args or 'the default policies'}", *programs])


def print_progress(line: str) -> None:
    """Print how far the search is, as NAME NUMBER NAME NUMBER."""
    words = line.split()
    said = [f"{int(n):,} {name}" for name, n in zip(words[::2], words[1::2], strict=True)]
    print("  " + ", ".join(said), file=sys.stderr, flush=True)


def describe_end(outcome: Outcome) -> str:
    """Return a sentence about how the search ended."""
    if outcome.status == FOUND:
        return f"A counterexample: {outcome.values['violation']}"
    if outcome.values.get("result") == "complete":
        return "Nothing is wrong in any state: all were visited."
    left = outcome.number("left")
    why = outcome.values.get("why", "")
    return (
        f"Nothing is wrong in the states visited. The search stopped because {why}; "
        f"{left:,} states were not gone on from."
    )


def print_counts(outcome: Outcome) -> None:
    """Print how much was visited."""
    seconds = float(outcome.values.get("seconds", "0"))
    counts = ", ".join(f"{outcome.number(name):,} {name}" for name in NUMBERS)
    speed = outcome.number("states") * 60 / seconds if seconds else 0
    print(
        f"{counts.replace(' depth', ' steps deep')} in {seconds:.2f} s of a "
        f"processor ({speed:,.0f} a minute)"
    )
    print(f"{outcome.number('quiet'):,} states in which all programs have ended", flush=True)


def print_coverage(outcome: Outcome, all_lines: bool) -> list[coverage.Place]:
    """Print which places of the cache and the queue were reached, and return all places.

    all_lines: print those missed, too.
    """
    places = coverage.find_places(outcome.values.get("covered", ""))
    print("\nplaces of the sources that were reached")
    print("\n".join(format_table(coverage.table(places))))
    if all_lines:
        print("\n".join(coverage.list_missed(places)))
    return places


def tell_story(configuration: Configuration, path: str) -> int:
    """Print the steps of a path. Returns the exit status."""
    status, text = replay(configuration, path)
    if status == REFUSED:
        print(f"dev search: {text.strip()}", file=sys.stderr)
        return REFUSED
    print("\n".join(path_story.tell(text.splitlines())), flush=True)
    return status


def tell_counterexample(configuration: Configuration, path: str) -> None:
    """Print the shortest sequence of steps to a violation, and the command that replays it."""
    tell_story(configuration, path)
    print(f"This one again:\n  {configuration.command()} --replay {path}", flush=True)


def run(request: Request) -> int:
    """Search a configuration, print what was found, and return the exit status."""
    configuration = request.configuration
    print(describe(configuration), flush=True)
    outcome = run_search(configuration, on_progress=print_progress)
    if outcome.status not in (0, FOUND):
        print(f"dev search: {outcome.error.removeprefix('search: ')}", file=sys.stderr)
        return outcome.status if outcome.status > 0 else REFUSED + 1
    print(f"  {outcome.values['promise']}")
    print(describe_end(outcome), flush=True)
    if outcome.status == FOUND:
        tell_counterexample(configuration, outcome.values["path"])
    print_counts(outcome)
    places = print_coverage(outcome, request.missed)
    if outcome.interrupted:
        raise KeyboardInterrupt("what was covered by then is printed above")
    if request.page:
        search_page.put_search(configuration.command(), outcome, coverage.table(places)[-1])
    return outcome.status


def run_request(request: Request) -> int:
    """Plant mutants, tell a path, or search. Returns the exit status."""
    if request.mutants:
        status, rows = mutants.run_mutants(request.jobs)
        if request.page:
            page_tables.put_table(search_page.PAGE, search_page.MUTANTS, rows)
        return status
    if request.replay:
        return tell_story(request.configuration, request.replay)
    return run(request)
