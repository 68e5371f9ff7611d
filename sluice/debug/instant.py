"""Finds the event that --at selects, and the read that --read selects.

event:48211    the event of this number; events are numbered from 0, from power-on
12.345s        the first event at this time or later, on the machine's clock (also ms, us, ns)
read:17        the read of this number is queued; reads are numbered from 1, in the order of
               queueing, in the measured part
read:longest   the read of the measured disk with the longest response time is queued
"""

import re
from bisect import bisect_left
from dataclasses import dataclass

from sluice.debug.origin import Made
from sluice.experiment.result import is_write_only
from sluice.system.requests import Request

NS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
TIME = re.compile(r"(\d+)(?:\.(\d+))?(s|ms|us|ns)")
LONGEST = "longest"
DATA_DISK = 1


class BadInstant(ValueError):
    """The error for an event or read that does not exist; the text says which ones do."""


@dataclass(frozen=True)
class Instant:
    """An event of a run, and a description of it in words."""

    number: int
    words: str


def parse_time_ns(text: str) -> int | None:
    """Return the nanoseconds of a text like "12.345s", or None if the text is no time with a
    unit."""
    match = TIME.fullmatch(text)
    if not match:
        return None
    whole, fraction, unit = match.groups()
    digits = len(str(NS[unit])) - 1
    return int(whole) * NS[unit] + int((fraction or "")[:digits].ljust(digits, "0") or 0)


def reads(kept: Made) -> list[Request]:
    """Return the reads of the measured part, in the order of queueing. The first has number 1."""
    return [r for r in kept.recording.requests if not r.write]


def longest_read_number(kept: Made, option: str) -> int:
    """Return the number of the read with the longest response time on the measured disk.

    The measured disk is the data disk, if the run has one, or else the root disk. option: what the
    user typed before the word, for messages. Raises BadInstant if the load has no read.
    """
    requests, found = kept.recording.requests, reads(kept)
    disk = DATA_DISK if any(r.disk == DATA_DISK for r in requests) else 0
    here = [i for i, read in enumerate(found) if read.disk == disk]
    if not here or is_write_only(kept.jobs, len(here), sum(r.disk == disk for r in requests)):
        raise BadInstant(
            f"{option}{LONGEST}: the load of this run has no read; the system has {len(found)} "
            f"while it runs, {option}1 to {option}{len(found)}"
        )
    return max(here, key=lambda i: found[i].response_ns) + 1


def read_number(kept: Made, word: str, option: str = "--read=") -> int:
    """Return the number of the read that a word selects.

    The word is a number, `longest`, or a time, which selects the longest read that was on its way
    at that time. option: what the user typed before the word, for messages. Raises BadInstant.
    """
    found = reads(kept)
    if not found:
        raise BadInstant(f"{option}{word}: this run has no read of a disk")
    if word == LONGEST:
        return longest_read_number(kept, option)
    at_ns = parse_time_ns(word)
    if at_ns is not None:
        here = [i for i, r in enumerate(found) if r.queued_ns <= at_ns <= r.completed_ns]
        if not here:
            raise BadInstant(f"{option}{word}: no read was on its way at this time")
        return max(here, key=lambda i: found[i].response_ns) + 1
    if not word.isdecimal() or not 1 <= int(word) <= len(found):
        raise BadInstant(
            f"{option}{word}: this run has reads 1 to {len(found)}; give one of these numbers, "
            f'"{LONGEST}", or a time as 12.345s'
        )
    return int(word)


def event_numbers(kept: Made, request: Request) -> dict[str, int]:
    """Return the numbers of a request's events by name. Only the first request of a command has
    `issued`."""
    asked = {"queued": request.queued_ns, "issued": request.issued_ns}
    asked["completed"] = request.completed_ns
    events = kept.recording.events
    numbers = {}
    for name, at_ns in asked.items():
        i = bisect_left(events, at_ns, key=lambda e: e.time_ns)
        while i < len(events) and events[i].time_ns == at_ns:
            e = events[i]
            same = (e.disk, e.block, e.write) == (request.disk, request.sector, request.write)
            if e.name == name and same:
                numbers[name] = kept.number(i)
                break
            i += 1
    return numbers


def first_event_at(kept: Made, word: str, at_ns: int) -> Instant:
    """Return the first event at this time or later. Raises BadInstant if the trace has none."""
    events = kept.recording.events
    i = bisect_left(events, at_ns, key=lambda e: e.time_ns)
    if i == len(events) or (i == 0 and kept.lost):
        first, last = events[0].time_ns / 1e9, events[-1].time_ns / 1e9
        raise BadInstant(f"--at={word}: the trace is from {first:.3f} s to {last:.3f} s")
    later_us = (events[i].time_ns - at_ns) / 1e3
    return Instant(kept.number(i), f"the first event from {word} on, {later_us:,.1f} us later")


def find(kept: Made, word: str) -> Instant:
    """Return the event that the argument --at selects. Raises BadInstant."""
    at_ns = parse_time_ns(word)
    if at_ns is not None:
        return first_event_at(kept, word, at_ns)
    kind, _, what = word.partition(":")
    if kind == "event" and what.isdecimal():
        last = kept.number(len(kept.recording.events)) - 1
        if not kept.lost <= int(what) <= last:
            raise BadInstant(f"--at={word}: the trace has events {kept.lost} to {last}")
        return Instant(int(what), f"event {int(what)}")
    if kind == "read":
        number = read_number(kept, what, "--at=read:")
        read = reads(kept)[number - 1]
        numbers = event_numbers(kept, read)
        words = f"read {number} is queued; its response takes {read.response_ns / 1e6:,.3f} ms"
        return Instant(numbers["queued"], f"{words}, until event {numbers['completed']}")
    raise BadInstant(f"--at={word}: give a time as 12.345s, read:{LONGEST}, read:17 or event:48211")
