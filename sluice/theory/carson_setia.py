"""Predict the mean response of reads while others write, under periodic update (PU), writing
through (WT), interval periodic update (IPU) and PU with reads first (PURP).

One disk, one request at a time; reads and writes arrive at random (Poisson). A write makes one of
`blocks` blocks dirty, all equally likely. If this block is dirty already, the write is absorbed.
With

    s        mean service time; cv: its coefficient of variation; C = (1 + cv^2) / 2
    rho_r    rate of reads, times s
    rho_w    rate of writes by programs, times s
    e        rate of the writes that reach the disk, times s: rho_w minus the absorbed writes
    T        time between two bursts of writes

the mean response is

    WT       s + (rho_r + rho_w) s C / (1 - rho_r - rho_w)
    IPU      s + (rho_r + e) s C / (1 - rho_r - e)
    PU       s + (rho_r + e) s C / (1 - rho_r) + e^2 T / (2 (1 - rho_r))
    PURP     s + (rho_r + e) s C / (1 - rho_r)

PU's last term is the wait behind bursts. Every T, e T / s writes are queued at once. The disk needs
e T for them, and e T / (1 - rho_r) with the reads that arrive meanwhile. So the share e / (1 -
rho_r) of all reads arrives during a burst, and waits on average for half of it. AIPU writes in
bursts, too, each with the blocks of one scan: its formula is that of PU, with the time between two
scans as T.

How many writes are absorbed, of r writes a second:

    PU       n = r T writes to m blocks make m (1 - exp(-n / m)) of them dirty
    else     a block is dirty for its age A, then clean until it is chosen again:
             m / (A + m / r) a second become dirty. AIPU sees a block half a scan late

The formula of PU holds if e T / s is much more than 1 and each burst ends well before the next. All
formulas except PURP's are for requests that are served in the order of arrival.

Source: after S. D. Carson and S. Setia, "Analysis of the Periodic Update Write Policy for
Disk Cache", IEEE Transactions on Software Engineering 18(1), 1992. Derived for this project
(Pollaczek and Khinchine's formula; PURP: head-of-line priority), within 2 % of a
simulated queue; these are not the paper's printed tables.
"""

from dataclasses import dataclass
from math import exp, isinf

from sluice.theory import Parameter, System

PARAMETERS = {
    "reads_per_s": Parameter("rate of reads that reach the disk", "the workload's rate_iops"),
    "writes_per_s": Parameter("rate of blocks written by programs", "the workload's rate_iops"),
    "blocks": Parameter(
        "that the writes choose from; inf: none is written twice", "the workload's size", 1
    ),
    "service_ms": Parameter("mean service time s", "the drive's row", 0.001),
    "service_cv": Parameter("its coefficient of variation cv", "the drive's row"),
}
QUANTITIES = {
    "read_ms": "mean response of a read",
    "written_share": "of the blocks that programs write, how many reach the disk: 1 - h",
}


@dataclass(frozen=True)
class Update:
    """The time between two bursts (0: no bursts) and the mean age at which a block is due (None:
    all blocks are due at each burst)."""

    burst_s: float
    age_s: float | None


def update_rule(system: System) -> Update | None:
    """Return when blocks are written, or None if the formulas do not cover the policies."""
    ms = system.tunables
    match system.policies["write"], system.policies["update"]:
        case "wt", _:  # each at once: IPU with age 0
            return Update(0, 0)
        case "delayed", "pu":
            return Update(ms["pu.interval_ms"] / 1000, None)
        case "delayed", "ipu":
            return Update(0, ms["ipu.age_ms"] / 1000)
        case "delayed", "aipu":
            return Update(
                ms["aipu.scan_ms"] / 1000, (ms["aipu.age_ms"] + ms["aipu.scan_ms"] / 2) / 1000
            )
    return None


def request_order(system: System) -> str | None:
    """Return the order of requests, or None if the formulas do not cover the scheduler."""
    match system.policies["sched"]:
        case "fcfs":
            return "oldest first"
        case "purp" if not system.tunables["purp.bound_ms"]:
            return "reads first"
    return None


def dirtying_rate(update: Update, writes_per_s: float, blocks: float) -> float:
    """Return the rate at which clean blocks become dirty, which is the rate of writes to the
    disk."""
    if isinf(blocks) or not writes_per_s:
        return writes_per_s
    if update.age_s is None:
        writes = writes_per_s * update.burst_s
        return blocks * (1 - exp(-writes / blocks)) / update.burst_s
    return blocks / (update.age_s + blocks / writes_per_s)


def read_ms(p: dict[str, float], written: float, burst_s: float, order: str) -> float:
    """Return the mean response of a read. Raises ValueError for an overloaded disk.

    written: blocks written to the disk per second; burst_s: the time between two bursts of these
    writes, or 0. order: of requests. It chooses the formula at the head: "reads first" that of
    PURP; "oldest first" that of PU for bursts, and else that of WT and IPU.
    """
    s_ms = p["service_ms"]
    rho_r, e = p["reads_per_s"] * s_ms / 1000, written * s_ms / 1000
    busy = rho_r + e  # the share of the time in which the disk serves a request
    if busy >= 1:
        raise ValueError(f"the disk is overloaded: it would be busy {busy:.0%} of the time")
    # What a read waits for on average: the rest of the request in service, and bursts before it.
    rest_ms = busy * s_ms * (1 + p["service_cv"] ** 2) / 2
    if order == "reads first":
        return s_ms + rest_ms / (1 - rho_r)
    if not burst_s:
        return s_ms + rest_ms / (1 - rho_r - e)
    behind_bursts_ms = e**2 * burst_s * 1000 / 2
    return s_ms + (rest_ms + behind_bursts_ms) / (1 - rho_r)


def predict(system: System, parameters: dict[str, float]) -> dict[str, float]:
    """Return the model's QUANTITIES; nothing for policies that the formulas do not cover."""
    update, order = update_rule(system), request_order(system)
    if update is None or order is None:
        return {}
    rate = parameters["writes_per_s"]
    written = dirtying_rate(update, rate, parameters["blocks"])
    told = {"read_ms": read_ms(parameters, written, update.burst_s, order)}
    return told | {"written_share": written / rate} if rate else told
