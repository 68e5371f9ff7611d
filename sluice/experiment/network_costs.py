"""`sluice dev costs --network`: count in the machine what the network's computing takes.

Two machines of live mode count their instructions (QEMU's -icount), and a client reads a file of
the server's memory by NFS, in blocks of three sizes. The same commands run in
charged time, where the rows of the network cost nothing yet. What a machine was busy for in the
first run and not in the second is the network's. Least squares divide it among the rows.

Devices interrupt when the host pleases, so the figures of two calls differ: by a few percent.
"""

import re
import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from sluice.experiment.costs import Array, compiler_version, fit_costs
from sluice.host.limits import HANG_S
from sluice.host.matching import search_text
from sluice.host.paths import ROOT
from sluice.network.consoles import Line
from sluice.network.virtual import Plan, run_network
from sluice.network.wiring import join_machines
from sluice.system import image
from sluice.system.image import Content
from sluice.system.qemu import LAB_SHIFT, Config, Disk, start

TABLE = ROOT / "kernel" / "measure" / "network_costs.h"
ROWS = ("frame", "sent_kb", "joined_kb", "rpc_call")
# A frame sent and a call served had rows, too. Next to these rows, zero fitted both best.
BLOCKS_KB = (1, 4, 8)
CALL_KB, REPLY_KB = 0.12, 0.14  # of datagrams, without the data
SHOW = "uptime; grep cpu.idle /dev/stat; grep net. /dev/stat; grep calls /dev/stat; echo @"
LOAD = "iogen output=text name=x rw=randread filename=/mnt/f bs={kb}k nr=2000"
ARGS = "nbuf=64 update=none prefetch=none"
SERVER_ARGS = "nbuf=2000 update=none"
COUNTERS = ("cpu.idle", "net.received", r"(?:nfs|remote).calls")
UPTIME = re.compile(r"up (\d\d):(\d\d):(\d\d)\.(\d{3})")
HEAD = """/*
 * What computing for the network costs in charged time, in instructions.
 * `sluice dev costs --network` counts it in the machine, and writes this file.
 *
 * Counted in the kernel of {compiler}.
 */
"""


def scripts(kb: int) -> tuple[str, str]:
    """Return the commands of the server and of the client: a reading before and after the load."""
    server = ["mkdir /x; dd if=/dev/zero of=/x/f bs=64k count=32 2> /dev/null; nfsd /x &"]
    client = ["mkdir /mnt; mount -t nfs 10.0.0.1:/x /mnt; cat /mnt/f > /dev/null"]
    for load in ("", LOAD.format(kb=kb)):
        server.append(f"udpecho -l -c 1; {SHOW}")
        client += [load, SHOW, "udpecho 10.0.0.1 next > /dev/null; sleep 1"]
    return "\n".join([*server, "poweroff", ""]), "\n".join([*client, "poweroff", ""])


def run_live(folder: Path, kb: int) -> list[str]:
    """Run both machines in live mode, counting instructions. Returns their consoles."""
    count = ("-icount", f"shift={LAB_SHIFT}")
    with ExitStack() as opened:
        started = []
        with join_machines(2) as plugs:
            for number, (plug, rc) in enumerate(zip(plugs, scripts(kb), strict=True)):
                content = Content(rc=rc, size="64M", block=f"{kb}K")
                disk = image.make_image(folder / f"{number}.img", content)
                args = (SERVER_ARGS, ARGS)[number]
                config = Config((Disk(disk),), args=args, options=(*plug.options, *count))
                machine = start(config, files=plug.files, **PIPES)
                opened.callback(machine.kill)
                started.append(machine)
        return [machine.communicate(timeout=HANG_S)[0].replace("\r", "") for machine in started]


PIPES: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "text": True}


def run_charged(folder: Path, kb: int) -> list[str]:
    """Run both machines in one charged time. Returns their consoles."""
    plan = Plan(scripts(kb), (SERVER_ARGS, ARGS), block=f"{kb}K")
    lines: list[Line] = []
    run_network(plan, folder, lines.append)
    return ["".join(f"{line.text}\n" for line in lines if line.machine == n) for n in (1, 2)]


def read_marks(console: str) -> Array:
    """Return what the load took on a machine: instructions that it was busy for, frames that it
    received, and calls."""
    found = []
    for part in console.split("@\n")[:2]:
        hours, minutes, seconds, ms = map(int, search_text(UPTIME, part).groups())
        now_ns = (((hours * 60 + minutes) * 60 + seconds) * 1000 + ms) * 10**6
        idle_ns, *counts = (
            int(search_text(re.compile(rf"{name} (\d+)"), part)[1]) for name in COUNTERS
        )
        instructions = (now_ns - idle_ns) / (1 << LAB_SHIFT)  # each takes 2^LAB_SHIFT ns
        found.append([instructions, *counts])
    before, after = np.array(found, dtype=float)
    change: Array = after - before
    return change


def explain(live: str, charged: str, kb: int, is_client: bool) -> tuple[list[float], float]:
    """Return how often a machine did each row's thing, and the instructions that the network
    took. kb: of a block."""
    busy, received, calls = read_marks(live)
    sent_kb = calls * (CALL_KB if is_client else kb + REPLY_KB)
    joined_kb = calls * (kb + REPLY_KB) if is_client and kb > 1 else 0  # else one frame has it all
    return [received, sent_kb, joined_kb, calls * is_client], busy - read_marks(charged)[0]


def measure() -> int:
    """Count, print and write the costs. Returns the exit status."""
    found = []
    for kb in BLOCKS_KB:
        with tempfile.TemporaryDirectory() as name:
            pairs = zip(run_live(Path(name), kb), run_charged(Path(name), kb), strict=True)
            found += [explain(*pair, kb, n == 1) for n, pair in enumerate(pairs)]
    did, took = np.array([row for row, _ in found]), np.array([n for _, n in found])
    costs = fit_costs(did, took)
    lines = [f"COST({row}, {int(cost)})\n" for row, cost in zip(ROWS, costs, strict=True)]
    TABLE.write_text(HEAD.format(compiler=compiler_version()) + "".join(lines), encoding="utf-8")
    for row, n in zip(did, took, strict=True):
        print(f"{n:,.0f} instructions, {row @ costs / n:.1%} explained")
    print(TABLE.read_text(encoding="utf-8"), end="")
    return 0
