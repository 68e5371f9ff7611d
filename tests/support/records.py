"""Build traces for tests."""

from collections.abc import Iterable

from sluice.system.trace import RECORD, WRITE, Event, Events, event_names


def packed(events: Iterable[Event]) -> Events:
    """Return these events in the form in which the kernel traces them."""
    number = event_names().index
    records = (
        RECORD.pack(e.time_ns, e.block, e.argument | WRITE * e.write, e.pid, number(e.name), e.disk)
        for e in events
    )
    return Events(b"".join(records))
