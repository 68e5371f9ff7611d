"""Predict eager writing of blocks: the time until the nearest free place passes under the head.

This is the formula of wang.py for a cylinder, E[min(x, y)], for places of several sectors and from
any instant. With

    k    sectors of a place; n: sectors of a track, a multiple of k; t: tracks of a cylinder
    p    share of the places that are free, each as likely as the others; on the track where the
         head is, p (1 - k / n), because the last command ended on a place of it, which is used
    b    time until the first sector has crossed the bus, in sectors; the arm is not there before
    s    head switch, in sectors; longer than b
    a    how far a track's first sector lies behind that of the track before (skew), in sectors

the places of the current track begin at u, u + k, u + 2k and so on, where u is uniform between 0
and k; the head can use them from time b on. The places of the track that is j tracks further begin
at (u + j a) mod k, and so on; the head can use them from time s on. In one rotation each place
passes once. The probability that no place which passes within a time x is free is a product: 1 - p
for each of these places. This gives the mean time, on condition that a place is free, and then the
mean over u.

Source: R. Y. Wang, T. E. Anderson, D. A. Patterson, "Virtual Log Based File Systems for a
Programmable Disk", OSDI 1999, its model of a cylinder; the extension to places is ours.
"""

from sluice.theory import Parameter, System
from sluice.theory.parts.drive_row import DriveRow, read_drive_row

PARAMETERS = {
    "used_share": Parameter("of the places: 1 - p", "the experiment", 0, 0.99),
    "place_sectors": Parameter("of a place: k", "the virtual log", 1),
}
QUANTITIES = {"locating_ms": "time until the nearest free place of the cylinder passes"}

STEPS = 64  # values of u over which the mean is taken


def start_times(first: float, after: float, k: int, n: int) -> list[float]:
    """Return the times at which the places of a track begin to pass, in one rotation from `after`
    on. first: the time of any one of them."""
    ahead = (first - after) % k
    return [after + ahead + k * i for i in range(n // k)]


def mean_wait(u: float, k: int, n: int, tracks: list[tuple[float, float, float]]) -> float:
    """Return the mean time to the first free place, in sectors.

    u: when a place of the current track begins; tracks: of each track the skew, the time until the
    head is there, and the share of free places.
    """
    # The places as they pass: when, and the probability that each is free.
    passing = [
        (time, free) for skew, there, free in tracks for time in start_times(u + skew, there, k, n)
    ]
    mean, none_so_far = 0.0, 1.0  # none_so_far: the probability that no earlier place was free
    for time, free in sorted(passing):
        mean += time * none_so_far * free
        none_so_far *= 1 - free
    return mean / (1 - none_so_far)


def mean_locating_sectors(free: float, k: int, row: DriveRow) -> float:
    """Return the mean time to the first free place over all instants, in sectors. free: the share
    p of the places. The drive has one zone."""
    (zone,) = row.zones
    n = zone.sectors
    bus, switch = (ns * n / row.rotation_ns for ns in (row.bus_ns, row.head_switch_ns))
    # Of each track: its skew, when the head can use it, and the share of free places on it.
    own_track = (0.0, bus, free * (1 - k / n))
    others = ((float(j * zone.track_skew % k), switch, free) for j in range(1, row.heads))
    tracks = [own_track, *others]
    instants = [(i + 0.5) * k / STEPS for i in range(STEPS)]  # u, evenly between 0 and k
    return sum(mean_wait(u, k, n, tracks) for u in instants) / STEPS


def predict(system: System, parameters: dict[str, float]) -> dict[str, float]:
    """Return QUANTITIES.

    Raises ValueError for a drive whose tracks differ, or do not hold a whole number of places.
    """
    row, k = read_drive_row(system.drive), int(parameters["place_sectors"])
    if len(row.zones) != 1 or row.zones[0].sectors % k:
        raise ValueError(
            f"{system.drive}: its tracks differ, or do not hold whole places of {k} sectors"
        )
    sectors = mean_locating_sectors(1 - parameters["used_share"], k, row)
    return {"locating_ms": sectors * row.rotation_ns / row.zones[0].sectors / 1e6}
