"""The operations that tests have the machine do."""

from dataclasses import replace
from itertools import islice

from grade.engine.scenario import Scenario
from grade.engine.workbench import Workbench
from sluice.crash.operations import Operation
from sluice.crash.oracle import History

from .operations import (
    AT_ONCE,
    ON_DEMAND,
    Recording,
    ShortRing,
    iterate_names,
    parse,
    record,
    rename_operations,
    scenario,
)

ROUNDS, FOLDERS = 6, 90  # three take half of a short log, six more than all of it
LARGE = ON_DEMAND.replace("nbuf=300", "nbuf=600")  # so many directories are in the cache


def record_commits(bench: Workbench, reference: bool = False) -> Recording:
    """Record names that are made, changed and removed, with fsyncs; blocks go home when they must.

    reference: by the solution's kernel.
    """
    rng = bench.random("commits")
    a, b, c, d, e = islice(iterate_names(bench, "commit names"), 5)
    sizes = [rng.randrange(100, 9000) for _ in range(3)]
    operations = parse(
        f"mkdir /{a}; creat /{a}/{b}; fsync /{a}/{b};"
        f"append /{a}/{b} {sizes[0]} 1; fsync /{a}/{b};"
        f"mkdir /{c}; rename /{a}/{b} /{c}/{d}; sync;"
        f"link /{c}/{d} /{e}; creat /{b}; append /{b} {sizes[1]} 2; fsync /{b};"
        f"unlink /{c}/{d}; rename /{b} /{e}; sync;"
        f"append /{e} {sizes[2]} 3; rmdir /{a}; sync; umount /"
    )
    return record(
        bench, scenario("commits", operations, ON_DEMAND), operations, reference=reference
    )


def record_homes(bench: Workbench) -> Recording:
    """Record files that are moved from each of two directories to the other, with fsyncs.

    The drive has no cache. Blocks go home as soon as they may, which here is while the next
    transaction is being written to the log. The files exist from the start, so no older transaction
    has the blocks of the first one, and a replay cannot mend these blocks from an older copy.
    """
    a, b, c, d, e, f, g = islice(iterate_names(bench, "home names"), 7)
    there = (f"/{a}/{c}", f"/{b}/{d}")
    start = f"mkdir /{a}; mkdir /{b}" + "".join(f"; creat {x}; truncate {x} 4096" for x in there)
    operations = parse(
        f"rename {there[0]} /{b}/{e}; rename {there[1]} /{a}/{f}; fsync /{b}/{e};"
        f"mkdir /{a}/{g}; unlink /{a}/{f}; fsync /{b}/{e};"
        f"rename /{a}/{g} /{b}/{g}; fsync /{b}/{e}"
    )
    machine = replace(
        scenario("homes", operations, AT_ONCE), data=tuple((path, "4K") for path in there)
    )
    return record(
        bench, machine, operations, lambda run: History(rename_operations(run, parse(start)))
    )


def fill_log(bench: Workbench) -> tuple[Scenario, tuple[Operation, ...]]:
    """Return a machine and its operations: they make directories that need more than a short log.

    The last directories fit into the log only if a checkpoint has made room. Then the first
    directory is removed. The only copy of its block in the log is from before the checkpoint.
    """
    *names, file = islice(iterate_names(bench, "checkpoint names"), ROUNDS * FOLDERS + 1)
    fsync = f"fsync /{file}"
    made = ""
    for i in range(ROUNDS):
        folders = names[i * FOLDERS : (i + 1) * FOLDERS]
        made += "".join(f"mkdir /{name}; " for name in folders) + f"{fsync};"
    operations = parse(
        f"creat /{file}; {made} append /{file} 3000 1; {fsync};rmdir /{names[0]}; {fsync}"
    )
    machine = scenario("checkpoint", operations, LARGE, like="checkpoint")
    return replace(machine, on_image=ShortRing(), size="7M"), operations


def record_checkpoint(bench: Workbench, reference: bool = False) -> Recording:
    """Record fill_log. reference: by the solution's kernel."""
    return record(bench, *fill_log(bench), reference=reference)


def record_reuse(bench: Workbench) -> Recording:
    """Record a directory that is removed, and a file that gets its block and is removed, too."""
    a, b, c = islice(iterate_names(bench, "reuse names"), 3)
    size = bench.random("reuse").randrange(3000, 9000)
    operations = parse(
        f"creat /{c}; mkdir /{a}; fsync /{c}; rmdir /{a}; fsync /{c};"
        f"creat /{b}; append /{b} {size} 1; fsync /{b}; unlink /{b}; fsync /{c}; umount /"
    )
    return record(bench, scenario("reuse", operations, ON_DEMAND), operations)
