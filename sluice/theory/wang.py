"""Predict eager writing: the time until the nearest free sector passes under the head.

The unit of time is the passing of one sector. Times are counted from an instant at which a sector
begins to pass; for an arbitrary instant, add half a sector. With

    n    sectors of a track; t: tracks of a cylinder
    p    share of the sectors that are free, each as likely as the others
    s    head switch, in sectors, rounded up
    m    sectors of a track that are left free when another track is taken

the mean time is

    on one track      (1 - p) n / (1 + p n)
    in a cylinder     E[min(x, y)], x on this track, y on the others:
                      P(x) = p (1 - p)^x
                      P(y) = (1 - q) q^(y - s) for y >= s, q = (1 - p)^(t - 1)
    to fill a track   (s + sum over i = m + 1 .. n of (n - i) / (1 + i)) / (n - m)
    that was empty

The first is the mean number of used sectors before the first free one, if exactly p n sectors are
free, at random places. The second assumes tracks without end, which matters only if p n is a few
sectors. The third is the mean of the first over a track that each write makes fuller, plus the
switch to the track.

But a track that is filled in this way is not used at random. Each write takes the first free sector
after a random place, so used sectors form runs, and a longer run grows faster. This is a hash table
with linear probing, whose mean is known: if k sectors are used, a write passes (Q - 1) / 2 used
sectors, Q = sum over j of (j + 1) k (k - 1) .. (k - j + 1) / n^j. So

    to fill it,       (s + sum over k = 0 .. n - m - 1 of (Q(n, k) - 1) / 2) / (n - m)
    exactly

The paper adds a correction to the third formula for this reason. The best m is the m for which the
mean write is shortest: with a larger m, the head switches often; with a smaller m, the last writes
wait long.

Source: R. Y. Wang, T. E. Anderson, D. A. Patterson, "Virtual Log Based File Systems for a
Programmable Disk", OSDI 1999, its models of eager writing and of the compactor; the last: D. E.
Knuth, "The Art of Computer Programming", volume 3, section 6.4, theorem K.
"""

from itertools import accumulate
from math import ceil

from sluice.theory import Parameter, System

PARAMETERS = {
    "sectors": Parameter("of a track: n", "the drive's row", 1),
    "tracks": Parameter("of a cylinder: t", "the drive's row", 1),
    "switch_sectors": Parameter("head switch in sectors: s", "the drive's row"),
    "used_share": Parameter("of the sectors: 1 - p", "the experiment", 0, 1),
    "left_sectors": Parameter("of a track when it is given up: m", "a tunable"),
}
QUANTITIES = {
    "track_sectors": "time to a free sector on one track",
    "cylinder_sectors": "time to a free sector in a cylinder",
    "fill_sectors": "time of a write that fills a track, as if it were used at random",
    "fill_exact_sectors": "the same, as the track is used",
    "best_left_sectors": "sectors to leave free, for which that is least",
}

NEGLIGIBLE = 1e-12


def mean_track_sectors(free: float, n: int) -> float:
    """Return the mean time on one track, in sectors."""
    return (1 - free) * n / (1 + free * n)


def mean_cylinder_sectors(free: float, t: int, s: int) -> float:
    """Return the mean of min(x, y): the sum over k of P(x > k) P(y > k). y > k is certain before
    the heads are switched."""
    q = (1 - free) ** (t - 1)
    mean, k, both_later = 0.0, 0, 1.0
    while both_later > NEGLIGIBLE:
        x_is_later = (1 - free) ** (k + 1)  # the probability
        y_is_later = 1 if k < s else q ** (k + 1 - s)
        both_later = x_is_later * y_is_later
        mean += both_later
        k += 1
    return mean


def mean_fill_sectors(n: int, s: int, m: int) -> float:
    """Return the mean time of a write that fills an empty track until m sectors are free: the
    switch to the track and, with i sectors free, the mean on one track, over n - m writes."""
    passed = sum((n - i) / (1 + i) for i in range(m + 1, n + 1))
    return (s + passed) / (n - m)


def mean_passed_sectors(n: int, k: int) -> float:
    """Return the mean number of used sectors that a write passes, on a track where k sectors were
    used in this way: (Q - 1) / 2. term: k (k - 1) .. (k - j + 1) / n^j."""
    q, term = 0.0, 1.0
    for j in range(k + 1):
        q += (j + 1) * term
        term *= (k - j) / n
    return (q - 1) / 2


def exact_fill_sectors(n: int, s: int, m: int) -> float:
    """Return the time of mean_fill_sectors(), with used sectors in runs instead of at random
    places."""
    return (s + sum(mean_passed_sectors(n, k) for k in range(n - m))) / (n - m)


def best_threshold(n: int, s: int) -> int:
    """Return the m for which exact_fill_sectors() is smallest; the smallest one of several."""
    # times[w]: of the switch to the track and the first w writes
    times = list(accumulate((mean_passed_sectors(n, k) for k in range(n)), initial=float(s)))
    return min(range(n), key=lambda m: times[n - m] / (n - m))


def predict(system: System, parameters: dict[str, float]) -> dict[str, float]:
    """Return the model's QUANTITIES, without those that have no finite value."""
    del system  # any that writes to the nearest free sector
    n, t = int(parameters["sectors"]), int(parameters["tracks"])
    s, m = ceil(parameters["switch_sectors"]), int(parameters["left_sectors"])
    free = 1 - parameters["used_share"]
    if m >= n:
        raise ValueError(f"left_sectors is {m}: a track has {n} sectors, so none would be written")
    told = {
        "track_sectors": mean_track_sectors(free, n),
        "fill_sectors": mean_fill_sectors(n, s, m),
        "fill_exact_sectors": exact_fill_sectors(n, s, m),
        "best_left_sectors": best_threshold(n, s),
    }
    return told | ({"cylinder_sectors": mean_cylinder_sectors(free, t, s)} if free > 0 else {})
