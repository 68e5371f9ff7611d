"""A drive's figures, as models have them."""

import pytest

from sluice.theory.parts.drive_row import read_drive_row


def test_the_row_is_the_tables_own():
    """These are figures of drives/cheetah4lp.c: 10,033 rotations in a minute, 8 heads, 3 segments,
    and zones with sectors on a track."""
    row = read_drive_row("cheetah4lp")
    assert (row.rotation_ns, row.heads, row.segments) == (60 * 10**9 // 10033, 8, 3)
    assert [z.sectors for z in row.zones] == [195, 187, 176, 166, 155, 145, 131]
    assert len(row.seek_ns) == row.zones[-1].last_cyl + 1 == 6581
    assert row.seek_ns[:2] == (0, 636000) and row.seek_ns[-1] == 4245800 + 1740 * 6580


def test_places_are_cylinders_in_the_proportion_of_their_sectors():
    """A place is a part of the disk's sectors, from 0 to 1; outer cylinders have more sectors."""
    row = read_drive_row("cheetah4lp")
    outer = row.zones[0]
    share = outer.cylinders * outer.sectors / sum(z.cylinders * z.sectors for z in row.zones)
    assert row.cylinder_at(0) == 0 and row.cylinder_at(1) == 6580
    assert abs(row.cylinder_at(share / 2) - outer.cylinders // 2) <= 1
    assert row.cylinder_at(0.5) < 6580 / 2  # the outer half holds more


def test_a_drive_without_platters_has_none():
    with pytest.raises(ValueError, match="fixed: has no platters"):
        read_drive_row("fixed")
