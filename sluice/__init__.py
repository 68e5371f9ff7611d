"""Sluice from Python: replay requests through the cache, the policies and a drive.

    import sluice

    requests = sluice.requests(time_ns=[0, 5_000_000], offset=[0, 1 << 20], bytes=4096, write=False)
    result = sluice.replay(requests, policies={"replace": "arc"}, drive="cheetah4lp", buffers=1024)
    result.response_ns                      # shape (2,), in ns

The twin makes the replay: Sluice's kernel, compiled for this computer (sluice/twin/). So time is
virtual, and the same call has the same result. In a clone `make twin` builds it; an installed
package has it. Names are the kernel's own: policies(), tunables() and drives() list them.
__version__ is Sluice's version.

replay() goes through the file system of a machine, so it has the limits of one: 6 GiB, two hours of
virtual time, some million requests. replay_blocks() has none of them: requests go straight to the
cache and the disk, and the result is a Figures (sluice/blocks/).

miss_curve() has the miss ratios of requests by the cache's size, and a notebook draws them.

All arrays are NumPy's. A table of requests has shape (requests,) and the type REQUEST: time_ns,
offset and bytes, and write, which is 1 for a write and 0 for a read.

Events have shape (events,) and the type EVENT, in the order of time:

    time_ns   when, in ns since power-on
    event     its name, as below
    disk      1: that for which the requests are; 0: the root disk; 2: that with the list of them
    block     where on the disk: a sector of 512 bytes, or a block of 4 KiB
    argument  a number
    pid       the process that ran, or 0
    write     True for a write, if block is a sector

What block and argument are depends on the event (kernel/measure/trace.h):

    queued, issued, failed       a sector; how many sectors
    completed                    a sector; the response time in ns
    placed                       a sector; the sector to which it goes
    hit, miss, cancelled         a block; 0
    evicted                      a block; 1 if it was prefetched and never asked for
    dirtied, absorbed            a block; its file: number of the mount << 32 | of the inode; or 0
    pinned                       a block; its file: a change waits for its transaction, or for data
    committed                    0; how many blocks were pinned, and are in the journal now
    ahead                        a block; 1 if the same call asked for it, 0 if it is prefetched
    writing                      a block; how long it was dirty, in ns, or 0
    flush                        0; how many blocks a flush or a tick started
    sought                       0: to the first cylinder, 1: to the last; when it was told, in ns
    fault                        what a policy answered wrongly about; the kind of fault
    named                        8 bytes of the process's new name; the other 8
    counted                      0; 0: /dev/stat was read
    carried                      a sector of a remote disk, whose command a process begins; 0
    sent, received               the first 8 bytes of a datagram; how many bytes it has
    framed                       how many bytes a frame has; when it arrives, 1: lost, 0: no room

The names are those of sluice/api.py, loaded when the first of them is used: the commands import
modules of this package too, and do not wait for NumPy.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sluice.api import *  # noqa: F403

PUBLIC = (
    *("EVENT", "REQUEST", "BadReplay", "BadTraceFile", "Figures", "LeftOutWarning", "ReplayFailed"),
    *("Result", "RunFailed", "Times"),
    *(
        "drives",
        "fit",
        "MissCurve",
        "miss_curve",
        "policies",
        "read",
        "replay",
        "replay_blocks",
        "requests",
        "tunables",
    ),
)


def __getattr__(name: str) -> object:
    """Return a public name of sluice/api.py, or the version. Raises AttributeError for any other
    name."""
    if name == "__all__":
        return list(PUBLIC)
    if name not in (*PUBLIC, "__version__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "__version__":
        value = import_module("sluice.host.version").version()
    else:
        try:
            value = getattr(import_module("sluice.api"), name)
        except ModuleNotFoundError as error:
            error.add_note(
                "This Python lacks what Sluice needs: in a clone use .venv/bin/python of its "
                "folder, or else install the wheel (book/pages/using/installing.md)."
            )
            raise
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *PUBLIC, "__version__"})
