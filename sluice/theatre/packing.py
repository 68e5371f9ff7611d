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
    """Yield for each change the index of its place's previous change, as a distance.

    If the change empties the place, the distance is from the previous change of the place that was
    emptied before, which is mostly 1; otherwise it is back from this change. A new place has no
    previous change: -1 stands for the index.
    """
    latest: dict[int, int] = {}  # by place: the index of its latest change
    emptied = 0  # the previous change of the place that was emptied last
    for i, (place, state) in enumerate(zip(places, states, strict=True)):
        previous = latest.get(place, -1)
        yield previous - emptied if state == EMPTY else i - previous
        if state == EMPTY:
            emptied = previous
        latest[place] = i


def deltas_by_kind(instants: list[int], kinds: list[int]) -> dict[int, list[int]]:
    """Return the time from each instant's predecessor, by the instant's kind."""
    out: dict[int, list[int]] = {}
    for kind, ns in zip(kinds, delta_encode(instants), strict=True):
        out.setdefault(kind, []).append(ns)
    return out


def instant_kinds(index: dict[int, int], requests: list[list[int]], cache: Columns) -> list[int]:
    """Return the kind of each instant: bits for what happens to requests at that time, plus
    OF_CACHE times the new state of a place in the cache plus 1, if a place changes.

    index: of each time among the instants. requests: the times at which requests are queued,
    issued and completed, a bit for each of these lists.
    """
    kinds = [0] * len(index)
    for bit, times in enumerate(requests):
        for t in times:
            kinds[index[t]] |= 1 << bit
    for t, state in zip(cache["time"], cache["state"], strict=True):
        of_requests = kinds[index[t]] % OF_CACHE
        kinds[index[t]] = of_requests + OF_CACHE * (state + 1)
    return kinds


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
    first: dict[int, int] = {}  # by command: the index of its first request
    done: dict[int, int] = {}  # by command: when the first of its requests was completed
    for i, command in enumerate(r["command"]):
        first.setdefault(command, i)
        done[command] = min(done.get(command, completed[i]), completed[i])
    out: dict[str, list[int]] = {n: [] for n in ("begin", "from", "to", "seek", "rotation", "done")}
    # What earlier commands showed, from which the next one is guessed. Times are in ns.
    cylinders: dict[int, int] = {}  # by sector
    angles: dict[int, int] = {}  # by sector: when it passes the head, modulo a rotation
    seeks: dict[int, int] = {}  # by 2 x cylinders crossed, plus 1 for a write
    arm = 0  # its cylinder
    ready = 0  # when the drive is free for the next command
    for k, begin in enumerate(c["begin"]):
        i = first.get(k, -1)  # -1: the command has no request
        sector, write = (r["sector"][i], r["write"][i]) if i >= 0 else (-1, 1)

        # Guess: it begins when its request is issued and the drive is free.
        out["begin"].append(begin - (max(issued[i], ready) if i >= 0 else ready))
        ready = done.get(k, begin)

        # Guess: it starts at the arm, ends on the sector's cylinder, and seeks as long as before.
        start, end = c["from"][k], c["to"][k]
        out["from"].append(start - arm)
        out["to"].append(end - cylinders.get(sector, start))
        arm = cylinders[sector] = end
        seek_key = abs(end - start) * 2 + write
        out["seek"].append(c["seek"][k] - seeks.get(seek_key, 0))
        seeks[seek_key] = c["seek"][k]

        # Guess: it waits for the sector's angle or, if that is unknown, for as long as its other
        # parts leave. Kind 0 stands for a command whose parts are unknown.
        before = c["command"][k] + c["busy"][k] + c["seek"][k]
        arrived = scene["start_ns"] + begin + before
        rotation, transfer = c["rotation"][k], c["transfer"][k]
        guess = 0
        if c["kind"][k]:
            guess = ready - begin - before - transfer
            if sector in angles:
                guess = (angles[sector] - arrived) % turn
            if turn:
                angles[sector] = (arrived + rotation) % turn
        out["rotation"].append(rotation - guess)

        # Guess: it is done when its parts are over.
        parts = before + rotation + transfer
        out["done"].append(c["done"][k] - (parts if c["kind"][k] else ready - begin))

    # Guess: the drive is free when the command's request is completed, or the next one begins.
    ends = [done.get(k, begin) for k, begin in enumerate(c["begin"])]
    nexts = [*c["begin"], ends[-1]][1:] if ends else []
    out["free"] = [
        free - max(0, min(end, after) - begin)
        for free, end, after, begin in zip(c["free"], ends, nexts, c["begin"], strict=True)
    ]
    return out


def compress_scene(scene: Scene) -> dict[str, list[int]]:
    """Return the columns of the page, by group and name. In place of times, most have indices of
    instants."""
    r = scene["requests"]
    groups = column_groups(scene)
    issued = delta_decode(r["queued"], r["issued"])
    completed = delta_decode(r["queued"], r["completed"])
    times = [r["queued"], issued, completed, *(groups[group]["time"] for group in TIMES)]
    instants = sorted({t for column in times for t in column})
    index = {t: i for i, t in enumerate(instants)}
    kinds = instant_kinds(index, times[:3], scene["cache"])
    queued = [index[t] for t in r["queued"]]
    in_order_of_commands = sorted(range(len(queued)), key=r["command"].__getitem__)
    begun = [index[issued[i]] for i in in_order_of_commands]
    ended = [index[completed[i]] for i in in_order_of_commands]
    found = deltas_by_kind(instants, kinds)
    out = {f"instants.{kind}": column for kind, column in sorted(found.items())} | {
        "requests.queued": queued,
        "requests.issued": begun,
        "requests.completed": [end - begin for begin, end in zip(begun, ended, strict=True)],
        "requests.number": list(predict_numbers(r["write"], r["number"])),
        "requests.event": [n - at for n, at in zip(r["event"], queued, strict=True)],
        "cache.before": list(previous_changes(scene["cache"]["place"], scene["cache"]["state"])),
    }
    out |= {f"{group}.time": [index[t] for t in groups[group]["time"]] for group in TIMES}
    for group, names in AS_THEY_ARE.items():
        out |= {f"{group}.{name}": groups[group][name] for name in names}
    commands = compress_commands(scene, issued, completed)
    return out | {f"commands.{name}": column for name, column in commands.items()}


def pack_run(scene: Scene) -> dict[str, object]:
    """Return the run in the form of the page, with `columns` in place of groups of columns."""
    rest = {name: value for name, value in scene.items() if name not in AS_THEY_ARE}
    rest["origins"] = deflate_text(json.dumps(scene["origins"], separators=(",", ":")).encode())
    rest["columns"] = {name: pack_column(column) for name, column in compress_scene(scene).items()}
    return rest
