"""Predict the time to read files that are not cached, by the paper's equations as printed.

Measurements are compared with the model of shriver.py. The model here adds nothing to the paper, so
that the paper's computed columns can be compared with its equations. For n files

    DRT[random]  = DiskOverhead + E[SeekTime] + E[RotLat] + size / min(BusTR, DiskTR)         (2)
    DRT[cached]  = DiskOverhead + size / BusTR                                                (3)
    FSRT         = TotalFSRT x request size / file size                                       (4)
    ClusterRT    = FSOverhead + DRT[first] + sum of DRT[remaining]
    FSOverhead   = requests x SystemCallOverhead + size x MemoryCopyRate
    TotalFSRT    = n x NumClusters x ClusterRT + DRT[indirect block]                          (5)

The first request of a cluster is random. Its other requests are cached, or random if n is more than
the segments of the drive's cache. NumClusters is file size / ClusterSize, plus 1 if the file has an
indirect block and a cluster is not as long as the direct blocks. The indirect block is random, and
its seek is one between two random places. The paper prints the fraction of equation (4) upside
down; here it is as the mean time of a request needs it. The extra seek time of C-LOOK is in
E[SeekTime].

The paper gives neither the drive's overheads nor its seek times, so they come from a row of
drives/, plus the time of a command's way to the drive.

Source: E. Shriver, C. Small, K. Smith, "Why does file system prefetching work?", USENIX 1999,
section 4.
"""

from dataclasses import dataclass

from sluice.theory import Parameter, System
from sluice.theory.parts.drive_row import SECTOR_BYTES, DriveRow, read_drive_row
from sluice.theory.parts.mean_drive import build_tracks, mean_near_seek_ns, mean_seeks_ns
from sluice.theory.parts.reader import DIRECT_BLOCKS, Bsd44

KIB = 1024

PARAMETERS = {
    "files": Parameter("read at once, n", "the workload", 1),
    "file_kb": Parameter("size of a file, KiB", "the workload", 1),
    "request_kb": Parameter("size of a read call, KiB", "the workload", 0.5),
    "block_kb": Parameter("BlockSize, KiB", "table 1", 1),
    "cluster_kb": Parameter("ClusterSize, KiB", "table 1", 1),
    "group_mb": Parameter("CylinderGroupSize, MiB", "table 1", 1),
    "call_us": Parameter("SystemCallOverhead", "table 1"),
    "copy_us": Parameter("MemoryCopyRate, for a KiB", "table 1"),
    "command_us": Parameter("a command's way to the drive", "section 5.3"),
    "bus_kb_s": Parameter("BusTR, 1,000 bytes a second", "section 5.3", 100),
    "segments": Parameter("CacheSegments", "section 6", 1, 16),
    "random": Parameter("random requests of a cluster; 0: as the equations say", "a reading", 0),
}
QUANTITIES = {
    "total_ms": "TotalFSRT",
    "request_ms": "FSRT, the mean response of a request",
}


def request_sizes_kb(system: System, p: dict[str, float]) -> list[float]:
    """Return the sizes of the disk requests by which a cluster is read, block by block."""
    blocks = int(min(p["cluster_kb"], p["file_kb"]) // p["block_kb"])
    if system.policies["prefetch"] == "none":
        return [p["block_kb"]] * blocks
    policy, sizes, covered = Bsd44(int(p["cluster_kb"] // p["block_kb"])), [], 0
    for block in range(blocks):
        if block >= covered:
            sizes.append(1)
            covered = block + 1
        ahead = policy.ahead(block + 1, blocks)
        if ahead:
            sizes.append(len(ahead))
            covered = ahead.stop
    return [size * p["block_kb"] for size in sizes]


def media_ns_kb(row: DriveRow) -> float:
    """Return the platters' time for a KiB, the mean over the zones, with the skews: 1 / DiskTR."""
    sectors = [z.cylinders * z.sectors for z in row.zones]
    sector_ns = []  # of each zone, with the part of the skew that falls to a sector
    for z in row.zones:
        tracks = build_tracks(row, z)
        sector_ns.append(tracks.slot_ns * (1 + tracks.skew / z.sectors))
    mean_ns = sum(n * ns for n, ns in zip(sectors, sector_ns, strict=True)) / sum(sectors)
    return mean_ns * KIB / SECTOR_BYTES


def mean_seek_ns(drive: str, n: int, near_ns: float) -> float:
    """Return E[SeekTime]: within a group for one file, else under C-LOOK over n files."""
    onward, back, _ = mean_seeks_ns(drive, max(n, 2))
    return near_ns if n == 1 else ((n - 1) * onward + back) / n


@dataclass(frozen=True)
class RequestTimes:
    """The parts of DRT, equations (2) and (3): a random and a cached request each take a fixed
    time, and a time for each KiB."""

    random_ns: float
    cached_ns: float
    random_ns_kb: float
    cached_ns_kb: float


def cluster_requests_ns(sizes_kb: list[float], n_random: int, times: RequestTimes) -> float:
    """Return the sum of DRT over a cluster's requests, the first n_random of which are random."""
    random_kb, cached_kb = sizes_kb[:n_random], sizes_kb[n_random:]
    random_ns = sum(times.random_ns + size * times.random_ns_kb for size in random_kb)
    return random_ns + sum(times.cached_ns + size * times.cached_ns_kb for size in cached_kb)


def predict(system: System, parameters: dict[str, float]) -> dict[str, float]:
    """Return the model's QUANTITIES; nothing for other policies than the paper's.

    The time of reading all files is that of their clusters: the program's overhead, and the disk's
    time for the cluster's requests. Files with indirect blocks need further reads.
    """
    if system.policies["prefetch"] not in ("none", "bsd44"):
        return {}
    p, row = parameters, read_drive_row(system.drive)
    n, sizes_kb = int(p["files"]), request_sizes_kb(system, p)

    # The times of the disk's requests.
    way_ns, half_turn_ns = p["command_us"] * 1e3, row.rotation_ns / 2
    bus_ns_kb = KIB * 1e6 / p["bus_kb_s"]
    seek_ns = mean_seek_ns(system.drive, n, mean_near_seek_ns(row, p["group_mb"]))
    times = RequestTimes(
        random_ns=way_ns + row.read_miss_ns + seek_ns + half_turn_ns,
        cached_ns=way_ns + row.read_hit_ns,
        random_ns_kb=max(bus_ns_kb, media_ns_kb(row)),
        cached_ns_kb=bus_ns_kb,
    )
    n_random = int(p["random"]) or (1 if n <= p["segments"] else len(sizes_kb))

    # The clusters of a file, and what the program adds to each: FSOverhead.
    held_kb = min(p["cluster_kb"], p["file_kb"])
    overhead_ns = (held_kb / p["request_kb"] * p["call_us"] + held_kb * p["copy_us"]) * 1e3
    has_indirect = p["file_kb"] / p["block_kb"] > DIRECT_BLOCKS
    one_more = has_indirect and p["cluster_kb"] / p["block_kb"] != DIRECT_BLOCKS
    clusters = p["file_kb"] / held_kb + one_more

    total_ns = n * clusters * (overhead_ns + cluster_requests_ns(sizes_kb, n_random, times))
    if has_indirect:  # its block is a random request, with a seek between two random places
        pair_ns = mean_seeks_ns(system.drive, 2)[2]
        total_ns += times.random_ns - seek_ns + pair_ns + p["block_kb"] * times.random_ns_kb
    total_ms = total_ns / 1e6
    return {"total_ms": total_ms, "request_ms": total_ms * p["request_kb"] / p["file_kb"]}
