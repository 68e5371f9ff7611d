"""The packed form of a run in a page: less than the columns of scene.py, because much of a run
follows from the rest of it. theatre.js finds the columns again, number by number.

- All times of requests and of the cache are places in one list of instants, for most of them are
  shared: a request completes, its buffer is clean, and the next request is issued, at one time.
  How long before an instant nothing happens depends on what happens then, so each kind of instant
  has a column of its own.
- Of a column that can be guessed from others, the page has the difference from the guess, which is
  0 nearly always. A sector is always on one cylinder and passes at one angle; a seek takes as long
  as the one before over as many cylinders; a command begins when it is there and the drive is free.
- Of a place in the cache, the page has the number of the change that it had before. Buffers that
  are evicted had that one after the other, under most policies.

The guesses must be those of theatre.js (`unpackedRun`), step by step.
"""

import json
from collections.abc import Iterator

from sluice.report.columns import deflate_text, pack_column
from sluice.theatre.scene import Columns, Scene

EMPTY = 0  # the state of a place in the cache, as in scene.py
AS_THEY_ARE = {
    "requests": ("write", "sector", "sectors", "command", "origin", "process"),
    "commands": ("kind", "own", "command", "busy", "transfer"),
    "cache": ("state",),
    "flushes": ("blocks",),
    "writes": ("process",),
}
OF_CACHE = 8  # the kinds of instants below it have no change in the cache
TIMES = ("cache", "flushes", "writes")  # groups that have a column of times


def delta_encode(column: list[int]) -> list[int]:
    """Return the differences of neighbouring numbers; the first number stays as it is."""
    return [n - before for before, n in zip([0, *column], column, strict=False)]


def delta_decode(*columns: list[int]) -> list[int]:
    """Return the sums of the numbers at the same position."""
    return [sum(row) for row in zip(*columns, strict=True)]


def predict_numbers(writes: list[int], column: list[int]) -> Iterator[int]:
    """Yield the differences from the expected numbers: reads are numbered one by one, and writes
    have 0."""
    last = 0
    for write, n in zip(writes, column, strict=True):
        yield n - (0 if write else last + 1)
        last = n or last


def previous_changes(places: list[int], states: list[int]) -> Iterator[int]:
    """Yield the index of the previous change of each change's place.

    The index is counted back from this change or, if the place is emptied, from the previous change
    of the place emptied last. A new place has the index -1.
    """
    latest: dict[int, int] = {}
    emptied = 0
    for i, (place, state) in enumerate(zip(places, states, strict=True)):
        before = latest.get(place, -1)
        yield before - emptied if state == EMPTY else i - before
        if state == EMPTY:
            emptied = before
        latest[place] = i


def deltas_by_kind(instants: list[int], kinds: list[int]) -> dict[int, list[int]]:
    """Return the time from each instant's predecessor, by the instant's kind."""
    out: dict[int, list[int]] = {}
    for kind, ns in zip(kinds, delta_encode(instants), strict=True):
        out.setdefault(kind, []).append(ns)
    return out


def column_groups(scene: Scene) -> dict[str, Columns]:
    """Return the groups of columns of a run, by name."""
    return {
        "requests": scene["requests"],
        "commands": scene["commands"],
        "cache": scene["cache"],
        "flushes": scene["flushes"],
        "writes": scene["writes"],
    }


def compress_commands(
    scene: Scene, issued: list[int], completed: list[int]
) -> dict[str, list[int]]:
    """Return the columns of commands as differences from a guess. issued, completed: the times of
    each request."""
    r, c, turn = scene["requests"], scene["commands"], scene["platter"]["rotation_ns"]
    first: dict[int, int] = {}  # of a command's requests
    done: dict[int, int] = {}  # when the first of them was completed
    for i, command in enumerate(r["command"]):
        first.setdefault(command, i)
        done[command] = min(done.get(command, completed[i]), completed[i])
    out: dict[str, list[int]] = {n: [] for n in ("begin", "from", "to", "seek", "rotation", "done")}
    cylinders: dict[int, int] = {}  # by sector
    angles: dict[int, int] = {}  # by sector
    seeks: dict[int, int] = {}  # by cylinders crossed, and direction
    arm = ready = 0
    for k, begin in enumerate(c["begin"]):
        i = first.get(k, -1)
        sector, write = (r["sector"][i], r["write"][i]) if i >= 0 else (-1, 1)
        out["begin"].append(begin - (max(issued[i], ready) if i >= 0 else ready))
        ready = done.get(k, begin)
        start, end = c["from"][k], c["to"][k]
        out["from"].append(start - arm)
        out["to"].append(end - cylinders.get(sector, start))
        arm = cylinders[sector] = end
        way = abs(end - start) * 2 + write
        out["seek"].append(c["seek"][k] - seeks.get(way, 0))
        seeks[way] = c["seek"][k]
        before = c["command"][k] + c["busy"][k] + c["seek"][k]
        there = scene["start_ns"] + begin + before
        rotation, transfer = c["rotation"][k], c["transfer"][k]
        guess = 0
        if c["kind"][k]:
            guess = ready - begin - before - transfer
            if sector in angles:
                guess = (angles[sector] - there) % turn
            if turn:
                angles[sector] = (there + rotation) % turn
        out["rotation"].append(rotation - guess)
        parts = before + rotation + transfer
        out["done"].append(c["done"][k] - (parts if c["kind"][k] else ready - begin))
    ends = [done.get(k, begin) for k, begin in enumerate(c["begin"])]
    nexts = [*c["begin"], ends[-1]][1:] if ends else []
    out["free"] = [
        free - max(0, min(end, after) - begin)
        for free, end, after, begin in zip(c["free"], ends, nexts, c["begin"], strict=True)
    ]
    return out


def compress_scene(scene: Scene) -> dict[str, list[int]]:
    """Return the columns of the page, by group and name."""
    r = scene["requests"]
    groups = column_groups(scene)
    issued = delta_decode(r["queued"], r["issued"])
    completed = delta_decode(r["queued"], r["completed"])
    times = [r["queued"], issued, completed, *(groups[group]["time"] for group in TIMES)]
    instants = sorted({t for column in times for t in column})
    place = {t: i for i, t in enumerate(instants)}
    queued = [place[t] for t in r["queued"]]
    order = sorted(range(len(queued)), key=r["command"].__getitem__)
    begun = [place[issued[i]] for i in order]
    kinds = [0] * len(instants)
    for number, column in enumerate(times[:3]):
        for t in column:
            kinds[place[t]] |= 1 << number
    for t, state in zip(scene["cache"]["time"], scene["cache"]["state"], strict=True):
        kinds[place[t]] = kinds[place[t]] % OF_CACHE + OF_CACHE * (state + 1)
    found = deltas_by_kind(instants, kinds)
    out = {f"instants.{kind}": column for kind, column in sorted(found.items())} | {
        "requests.queued": queued,
        "requests.issued": begun,
        "requests.completed": [place[completed[i]] - n for i, n in zip(order, begun, strict=True)],
        "requests.number": list(predict_numbers(r["write"], r["number"])),
        "requests.event": [n - at for n, at in zip(r["event"], queued, strict=True)],
        "cache.before": list(previous_changes(scene["cache"]["place"], scene["cache"]["state"])),
    }
    out |= {f"{group}.time": [place[t] for t in groups[group]["time"]] for group in TIMES}
    for group, names in AS_THEY_ARE.items():
        out |= {f"{group}.{name}": groups[group][name] for name in names}
    mine = compress_commands(scene, issued, completed)
    return out | {f"commands.{name}": column for name, column in mine.items()}


def pack_run(scene: Scene) -> dict[str, object]:
    """Return the run in the form of the page, with `columns` in place of groups of columns."""
    rest = {name: value for name, value in scene.items() if name not in AS_THEY_ARE}
    rest["origins"] = deflate_text(json.dumps(scene["origins"], separators=(",", ":")).encode())
    rest["columns"] = {name: pack_column(column) for name, column in compress_scene(scene).items()}
    return rest
