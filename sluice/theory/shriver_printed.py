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
    slots = [
        (tracks.slot_ns * (1 + tracks.skew / z.sectors))
        for z in row.zones
        for tracks in (build_tracks(row, z),)
    ]
    mean = sum(n * ns for n, ns in zip(sectors, slots, strict=True)) / sum(sectors)
    return mean * KIB / SECTOR_BYTES


def mean_seek_ns(drive: str, n: int, near_ns: float) -> float:
    """Return E[SeekTime]: within a group for one file, else under C-LOOK over n files."""
    onward, back, _ = mean_seeks_ns(drive, max(n, 2))
    return near_ns if n == 1 else ((n - 1) * onward + back) / n


def cluster_requests_ns(sizes_kb: list[float], n_random: int, at: dict[str, float]) -> float:
    """Return the sum of DRT over a cluster's requests, the first n_random of which are random."""
    random = sum(at["random"] + size * at["slow_kb"] for size in sizes_kb[:n_random])
    return random + sum(at["cached"] + size * at["bus_kb"] for size in sizes_kb[n_random:])


def predict(system: System, parameters: dict[str, float]) -> dict[str, float]:
    """Return the model's QUANTITIES; nothing for other policies than the paper's.

    The time of reading all files is that of their clusters: the program's overhead, and the disk's
    time for the cluster's requests. Files with indirect blocks need further reads.
    """
    if system.policies["prefetch"] not in ("none", "bsd44"):
        return {}
    p, row = parameters, read_drive_row(system.drive)
    n, sizes_kb = int(p["files"]), request_sizes_kb(system, p)
    way_ns, turn_ns, bus_kb = p["command_us"] * 1e3, row.rotation_ns / 2, KIB * 1e6 / p["bus_kb_s"]
    seek_ns = mean_seek_ns(system.drive, n, mean_near_seek_ns(row, p["group_mb"]))
    at = {
        "random": way_ns + row.read_miss_ns + seek_ns + turn_ns,
        "cached": way_ns + row.read_hit_ns,
        "slow_kb": max(bus_kb, media_ns_kb(row)),
        "bus_kb": bus_kb,
    }
    n_random = int(p["random"]) or (1 if n <= p["segments"] else len(sizes_kb))
    held_kb = min(p["cluster_kb"], p["file_kb"])
    overhead_ns = (held_kb / p["request_kb"] * p["call_us"] + held_kb * p["copy_us"]) * 1e3
    indirect = p["file_kb"] / p["block_kb"] > DIRECT_BLOCKS
    extra = indirect and p["cluster_kb"] / p["block_kb"] != DIRECT_BLOCKS
    clusters = p["file_kb"] / held_kb + extra
    total = n * clusters * (overhead_ns + cluster_requests_ns(sizes_kb, n_random, at))
    if indirect:
        pair_ns = mean_seeks_ns(system.drive, 2)[2]
        total += at["random"] - seek_ns + pair_ns + p["block_kb"] * at["slow_kb"]
    return {"total_ms": total / 1e6, "request_ms": total / 1e6 * p["request_kb"] / p["file_kb"]}
