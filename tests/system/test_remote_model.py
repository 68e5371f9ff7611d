"""Two clients and a server do random operations, and each output is what the mount's consistency
allows.

The clients act in slots of virtual time. In most slots one of them acts, so all that was closed in
earlier slots must be seen: the model knows the exact output. In a shared slot one client writes a
file and the other one reads it: it may see the old contents, the new ones, or none yet.

Under Spritely NFS and under leases each read sees the latest write, also of a file that others have
open. So there one client keeps a file open over two slots, and the other one reads what was written
by then, or writes what the first one then reads.
"""

import random
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from drawn import SEEDS, Drawn, draw_network
from whole import draw_for_each

from sluice.network.consoles import Line
from sluice.network.virtual import Begin, Link, Plan, run_network
from sluice.twin import engine

CONSISTENCIES = ("nfs", "spritely", "leases")
BIG = "/bin/mount"  # of several blocks
NAMES = ("a", "b", "c", "d/e")
SLOTS = 28
GONE = "no such file or directory"


@dataclass
class Model:
    """The exported directory: names and contents. BIG stands for that file's."""

    files: dict[str, str] = field(default_factory=dict)

    def act(self, draw: random.Random, token: str) -> tuple[str, str]:
        """Draw an operation. Returns its command and its exact output."""
        name, other = draw.sample(NAMES, 2)
        path, old = f"/mnt/{name}", self.files.get(name)
        what = draw.choice(("write", "append", "read", "read", "big", "cut", "remove", "move"))
        if what == "write":
            self.files[name] = f"{token}\n"
            return f"echo {token} > {path}", ""
        if what == "append" and old != BIG:
            self.files[name] = (old or "") + f"{token}\n"
            return f"echo {token} >> {path}", ""
        if what == "big":
            self.files[name] = BIG
            return f"cp {BIG} {path}", ""
        if what == "cut" and old and old != BIG:
            self.files[name] = old[: old.index("\n") + 1]
            return f"truncate -s {len(self.files[name])} {path}", ""
        if what == "remove":
            self.files.pop(name, None)
            return f"rm {path}", "" if old is not None else f"rm: {path}: {GONE}"
        if what == "move":
            if old is None:
                return f"mv {path} /mnt/{other}", f"mv: {path} to /mnt/{other}: {GONE}"
            self.files[other] = self.files.pop(name)
            return f"mv {path} /mnt/{other}", ""
        return self.read(name)

    def read(self, name: str, at: str = "/mnt") -> tuple[str, str]:
        """Return a command that shows a file, and its exact output."""
        path, contents = f"{at}/{name}", self.files.get(name)
        if contents is None:
            return f"cat {path}", f"cat: {path}: {GONE}"
        if contents == BIG:
            return f"cmp {BIG} {path} && echo same", "same"
        return f"cat {path}", contents.strip()


@dataclass
class Trial:
    """The scripts of two clients, and the outputs that each command may have."""

    scripts: list[str]
    allowed: dict[str, set[str]]
    model: Model


def draw_trial(seed: int, slot_s: int, exact: bool) -> Trial:
    """Draw the operations of all slots, which take slot_s each. exact: the consistency shows
    clients also what was written to files that are still open."""
    draw = random.Random(seed)
    model = Model()
    trial = Trial(["", ""], {}, model)

    def add(client: int, slot: int, command: str, outputs: set[str]) -> None:
        """Have a client do a command in a slot."""
        trial.scripts[client] += f"echo @{client}-{slot}; {command}\n"
        trial.allowed[f"{client}-{slot}"] = outputs

    def hold(client: int, slot: int, token: str, name: str) -> None:
        """Have a client keep a small file open until the next slot's middle, while the other one
        uses the file: appends to what the first client reads, or reads what it has written."""
        path, pause = f"/mnt/{name}", f"sleep {slot_s * 3 // 2}"
        if draw.random() < 0.5 and model.files[name]:
            first, *rest = model.files[name].splitlines()
            command = f"(read x; echo $x; {pause}; cat) < {path}"
            add(client, slot, command, {"\n".join((first, *rest, token))})
            add(1 - client, slot + 1, f"echo {token} >> {path}", {""})
            model.files[name] += f"{token}\n"
        else:
            add(client, slot, f"(echo {token}; {pause}; echo end) > {path}", {""})
            add(1 - client, slot + 1, f"cat {path}", {token})
            model.files[name] = f"{token}\nend\n"
        trial.scripts[client] += f"sleep {slot_s - slot_s // 2}\n"
        trial.scripts[1 - client] += f"sleep {slot_s}\n"

    held = False
    for slot in range(SLOTS):
        if held:
            held = False
            continue
        client = draw.randrange(2)
        token = f"{slot}x{draw.randrange(1000)}"
        small = [name for name, contents in model.files.items() if contents != BIG]
        if exact and small and slot < SLOTS - 1 and draw.random() < 0.4:
            trial.scripts[1 - client] += f"sleep {slot_s}\n"
            hold(client, slot, token, draw.choice(small))
            held = True
            continue
        if small and draw.random() < 0.3:
            name = draw.choice(small)
            old = model.files[name]
            model.files[name] = f"{token}\n"
            add(client, slot, f"echo {token} > /mnt/{name}", {""})
            add(1 - client, slot, f"cat /mnt/{name}", {old.strip(), "", token})
        else:
            command, output = model.act(draw, token)
            add(client, slot, command, {output})
        for script in range(2):
            trial.scripts[script] += f"sleep {slot_s}\n"
    for client in range(2):
        for at, name in enumerate(NAMES):
            command, output = model.read(name)
            add(client, SLOTS + at, command, {output})
        trial.scripts[client] += "sync\n"
    return trial


def outputs_of(lines: list[str]) -> dict[str, str]:
    """Return what followed each mark in the lines of one client."""
    found: dict[str, list[str]] = {}
    mark = ""
    for line in lines:
        if line.startswith("@"):
            mark = line[1:]
            found[mark] = []
        elif mark and not line.startswith("nfs: "):
            found[mark].append(line)
    return {mark: "\n".join(text) for mark, text in found.items()}


@pytest.mark.parametrize(
    ("seed", "restarts", "network"),
    [
        # Drawn: boot arguments, size of blocks, link.
        (1, 0, Drawn("", "4K", Link())),
        (2, 0, Drawn("nbuf=64", "4K", Link(loss_percent=5, seed=2))),
        (3, 3, Drawn("write=through update=aipu", "4K", Link())),
        (
            4,
            2,
            Drawn("sched=sstf replace=arc", "4K", Link(loss_percent=5, late_percent=10, seed=4)),
        ),
    ],
    ids=["quiet", "loss", "restarts", "loss-and-restarts"],
)
@pytest.mark.parametrize("consistency", draw_for_each(CONSISTENCIES, 4))
def test_each_client_sees_what_its_consistency_allows(
    tmp_path: Path, consistency: str, seed: int, restarts: int, network: Drawn
) -> None:
    judge_trial(tmp_path, consistency, seed, restarts, network)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("consistency", draw_for_each(CONSISTENCIES, 2))
def test_each_client_sees_what_it_may_on_any_drive_block_and_link(
    tmp_path: Path, consistency: str, seed: int
) -> None:
    """The seed draws the drive, the size of blocks, the link, and how often the server restarts.
    Twins run the machines, because they make such a trial in seconds."""
    if why := engine.host_refusal_reason():
        pytest.skip(why)
    judge_trial(tmp_path, consistency, seed, seed % 3, draw_network(seed), engine.start_twin)


def judge_trial(
    folder: Path,
    consistency: str,
    seed: int,
    restarts: int,
    network: Drawn,
    twin: Begin | None = None,
) -> None:
    """Run two clients and a server, and compare what each saw with what it may see."""
    exact = consistency != "nfs"
    # After a restart, a server grants nothing for a while (its grace period). A slot is longer.
    quiet_s = {"nfs": 20, "spritely": 60, "leases": 100} if restarts else {}
    slot_s = 200 if network.link.loss_percent else quiet_s.get(consistency, 20)
    trial = draw_trial(seed, slot_s, exact)
    options = f"-o consistency={consistency}"
    mount = f"sleep 1; mkdir /mnt; mount -t nfs {options} 10.0.0.1:/x /mnt\n"
    whole_s = slot_s * (SLOTS + 2)
    serve = "mkdir /x; mkdir /x/d; nfsd /x &\n"
    for _ in range(restarts):
        serve += f"sleep {whole_s // (restarts + 1)}.37; "
        serve += "ps | grep nfsd | while read pid rest; do kill $pid; done; sleep 3; nfsd /x &\n"
    serve += f"sleep {whole_s}\n"
    serve += "".join(f"{trial.model.read(name, '/x')[0]}\n" for name in NAMES) + "true\n"
    lines: list[Line] = []
    plan = Plan(
        (serve, *(mount + script for script in trial.scripts)),
        (network.args,) * 3,
        network.link,
        block=network.block,
        twin=twin,
    )
    assert run_network(plan, folder, lines.append, folder / "notes") == [0, 0, 0]
    words = [str(line).split(maxsplit=2) for line in lines]
    said = [[w[2] if len(w) > 2 else "" for w in words if w[1] == n] for n in ("1", "2", "3")]
    seen = outputs_of(said[1]) | outputs_of(said[2])
    wrong = {m: (seen.get(m), ok) for m, ok in trial.allowed.items() if seen.get(m) not in ok}
    assert not wrong
    for name in NAMES:
        assert trial.model.read(name, "/x")[1] in "\n".join(said[0])
