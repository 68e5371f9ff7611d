"""Makes a run of a client and a server in one virtual time (sluice/network/wiring.py).

The server serves its data disk until the client has unmounted it. It reads its counters when the
client has mounted the disk, and again when the client has read its own at the end. The changes
of the counters are in the client's result, with names that begin with `server.`.
"""

import subprocess
import threading
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from sluice.experiment import run as runs
from sluice.experiment.records import RunResult
from sluice.experiment.run import Ended, RunFailed
from sluice.experiment.schema import Run
from sluice.host.scratch import scratch_folder
from sluice.network.virtual import Begin, Link, start_in_qemu
from sluice.network.wiring import join_machines
from sluice.system import devtext, image
from sluice.system.guest import DiskChanged, Guest, parse_size
from sluice.system.qemu import Config, Disk
from sluice.system.trace import BadTrace
from sluice.twin import engine

SERVER, CLIENT = 0, 1
SERVER_MARK = "\n@server\n"  # in a run's console: before it stands what the client showed
SERVER_MEMORY = ".server"  # after the name of the file of the client's memory
ENDING_S = 60  # of the host: the server ends when the client has
SERVE = """mkdir /data && mount disk1 /data || exit
nfsd /data &
udpecho -l -c 1
echo @start; {reading}
echo @workload
udpecho -l -c 1
echo @end; {reading}
echo @done
udpecho -l -c 1
"""


def server_run(run: Run) -> Run:
    """Return the run as its server's machine has it."""
    return replace(run, config=run.config["server"])


def make_server(run: Run, folder: Path) -> Config:
    """Return the server's machine, with its disks in the folder."""
    server = server_run(run)
    scripts = {"/rc": SERVE.format(reading=runs.READING.strip())}
    root = image.make_image(folder / "server.img", runs.content(server, "root", scripts))
    disks = (Disk(root), *runs.other_disks(server))
    nvram = folder / "nvram.img"
    if server.config["nvram"] != "0":
        with nvram.open("wb") as file:
            file.truncate(parse_size(server.config["nvram"]))
        disks = (*disks, Disk(nvram))
    return replace(runs.plain_machine(server), disks=disks)


def make_client(run: Run, folder: Path) -> Config:
    """Return the client's machine, with its disk in the folder."""
    content = runs.content(run, "root", runs.guest_scripts(run))
    root = image.make_image(folder / "client.img", content)
    return replace(runs.plain_machine(run), disks=(Disk(root),))


def start_machines(
    link: Link,
    configs: list[Config],
    guests: list[Guest],
    consoles: list[Path],
    opened: ExitStack,
    begins: tuple[Begin, Begin] = (start_in_qemu, start_in_qemu),
) -> list[subprocess.Popen[bytes]]:
    """Start both machines on a link. `opened` ends them. begins: what starts each one."""
    started: list[subprocess.Popen[bytes]] = []
    with join_machines(2) as plugs:
        for number, plug in enumerate(plugs):
            args = f"{configs[number].args} {link.arguments(number + 1, 2)}"
            machine = begins[number](
                replace(configs[number], args=args),
                guests[number],
                plug=plug,
                stdin=subprocess.DEVNULL,
                stdout=opened.enter_context(consoles[number].open("wb")),
                stderr=subprocess.PIPE,
            )
            opened.callback(machine.wait)
            opened.callback(machine.kill)
            started.append(machine)
    return started


def follow_server(server: subprocess.Popen[bytes], client: subprocess.Popen[bytes]) -> None:
    """Wait for the server's end. If it failed, end the client, which would wait for it."""
    if server.wait():
        client.kill()


def boot(run: Run, configs: list[Config], guests: list[Guest], folder: Path) -> list[Ended]:
    """Run both machines until the client has ended, and then the server. Returns how they ended."""
    consoles = [folder / f"{number}.txt" for number in range(2)]
    with ExitStack() as opened:
        began_s = time.monotonic()
        link = Link(run.config["link"], **run.config.get("faults", {}))
        begin = engine.start_twin if run.uses_twin else start_in_qemu
        machines = start_machines(link, configs, guests, consoles, opened, (begin, begin))
        threading.Thread(target=follow_server, args=machines, daemon=True).start()
        client = runs.wait_for_exit(machines[CLIENT], run.host_limit_s)
        server = runs.wait_for_exit(machines[SERVER], ENDING_S if client[0] == 0 else 0)
        took_s = time.monotonic() - began_s
    texts = [path.read_text(errors="replace", encoding="utf-8") for path in consoles]
    return [
        Ended(status, text.replace("\r", ""), complaints, took_s)
        for (status, complaints), text in zip((server, client), texts, strict=True)
    ]


def add_server(result: RunResult, console: str) -> None:
    """Add the server's counters and histograms to a result. Raises BadText."""
    shown = runs.split_readings(console)
    before, after = (devtext.parse_stat(shown[name]) for name in ("stat0", "stat1"))
    for counters in (before, after):
        counters.pop(runs.FREE_PAGES)
    grown = devtext.counter_change(before, after)
    hists = [devtext.parse_histograms(shown[name]) for name in ("hist0", "hist1")]
    came = devtext.histogram_change(*hists)
    result["counters"] |= {f"server.{name}": row for name, row in grown.items()}
    result["histograms"] |= {f"server.{name}": row for name, row in came.items()}


def make_run(run: Run, console: Path, memory: Path | None) -> tuple[RunResult, float]:
    """Make the run. Returns its result and the host's seconds. Raises RunFailed. console: has what
    the client showed, and then what the server did; memory: a file for the client's memory. The
    file of the server's memory has SERVER_MEMORY after that name."""
    console.touch()
    of_server = memory and memory.with_name(memory.name + SERVER_MEMORY)
    with scratch_folder(runs.UNDER_WAY) as folder, ExitStack() as opened:
        configs = [make_server(run, folder), make_client(run, folder)]
        runs.expect_engine(run, configs)
        kept = (of_server, memory)
        guests = [
            opened.enter_context(config.guest(kept=file))
            for config, file in zip(configs, kept, strict=True)
        ]
        server, client = boot(run, configs, guests, folder)
        console.write_text(client.console + SERVER_MARK + server.console, encoding="utf-8")
        try:
            why = runs.failure_reason(run, server) if server.status else None
            if why:
                raise RunFailed(f"the server: {why}")
            result = runs.build_run_result(run, client, guests[CLIENT].path)
            add_server(result, server.console)
            for guest in guests if not run.uses_twin else ():
                guest.verify()
            return result, client.host_s
        except (RunFailed, DiskChanged, devtext.BadText, BadTrace) as error:
            ended = server if str(error).startswith("the server") else client
            raise RunFailed(runs.describe_failure(str(error), ended)) from None
