"""After a power cut there is no tail. The walk begins at the youngest sector of the whole disk."""

from grade.engine.workbench import Workbench

from ..recovery import expect_places, expect_walk, reader


def each_block_is_found_without_a_tail(bench: Workbench) -> None:
    """Two files are read after the start from a disk whose power was cut."""
    expect_places(bench.run(reader(bench, "scan", tail=False), despite_faults=True))


def after_the_scan_the_walk_is_the_same(bench: Workbench) -> None:
    """After the scan only the valid sectors of the map are read, each once."""
    expect_walk(bench.run(reader(bench, "scan", tail=False), despite_faults=True))
