"""Costs that must not grow with the cache do not grow: virtual time, and blocks scanned."""

import platform

import pytest

from sluice.twin import engine
from tools.bench import scaling


def test_a_scan_that_finds_nothing_due_costs_the_same_among_any_number_of_dirty_blocks():
    """With 1,000 and with 16,000 dirty blocks, the update daemon scans one block and stops."""
    few, many = scaling.measure_idle_scan(1_000), scaling.measure_idle_scan(16_000)
    assert few.scanned == many.scanned == 1
    assert many.cpu_ns == pytest.approx(few.cpu_ns, rel=0.01)


def test_finding_a_block_or_a_victim_costs_the_same_in_a_cache_of_any_size():
    """A hit finds a block, and a miss finds a victim, too."""
    small, large = scaling.measure_reads(8 * 1024), scaling.measure_reads(32 * 1024)
    assert large.hit_ns == pytest.approx(small.hit_ns, rel=0.002)
    # With another cache, other blocks of the file's map are cached, which costs a little.
    assert large.miss_ns == pytest.approx(small.miss_ns, rel=0.03)


@pytest.mark.skipif(platform.machine() not in engine.HOSTS, reason="there is no twin here")
def test_the_twin_takes_less_than_twice_the_memory_of_its_blocks_and_tables():
    assert 0.5 < scaling.measure_twin_memory(64_000) < 2
