"""`sluice why` of a read of a remote disk: through the client, the wire and the server.

The runs are of LOAD: two readers and a writer of a server's disk by NFS over Ethernet. A chain has
the parts of a read's time; each has a place (client, wire, server, server's disk). Both machines'
times are on one axis. Fixtures: `well` is a run without losses; in `lossy` 2 % of the frames are
lost and 2 % are late; `explained` is either. Each has the explainer and all chains.
"""

import re
from pathlib import Path

import pytest
from either import ENGINE, load_experiment
from typed import enter

from sluice.debug.instant import reads
from sluice.debug.narrative import explain_remote_read
from sluice.debug.remote import PLACES, RemoteChain, RemoteExplainer
from sluice.debug.stored_run import find_or_record
from sluice.debug.wire import CALL, Side
from sluice.experiment.files import FOLDER
from sluice.network.link_row import read_link_row
from sluice.system.trace import Event

pytestmark = pytest.mark.xdist_group("remote why")  # they share machines

US, MS = 10**3, 10**6
REMOTE = 1  # the number of the remote disk
# Two readers and a writer of one server, whose blocks are flushed in bursts. In the server's cache
# there is room for a few.
LOAD = """\
claim = "every remote read can be explained"
source = "this test"

[machine]
nbuf = 100

[network]
link = "ethernet10"
stable_writes = 1
{more}

[network.server]
nbuf = 100

[network.server.data]
drive = "rz58"
size = "16M"
files = {{"/read" = "4M", "/write" = "1M"}}

[policies]
sched = "purp"

[tunables]
"pu.interval_ms" = "1 s"

[[arms]]
name = "delayed"
policies = {{write = "delayed", update = "pu"}}

[workload]
commands = \"\"\"
iogen bs=4k seed=1 name=read rw=randread filename=/data/read nr=100 numjobs=2 -- \
    name=write rw=write filename=/data/write rate_iops=40 until=read
\"\"\"
"""


def explain_all(path: Path, more: str) -> tuple[RemoteExplainer, list[RemoteChain]]:
    """Return the explainer of a run, and the chains of all its remote reads. more: lines of its
    table [network]."""
    path.write_text(LOAD.format(more=more))
    explainer = RemoteExplainer(find_or_record(load_experiment(path).runs[0], FOLDER))
    found = [r for r in reads(explainer.kept) if r.disk == REMOTE]
    assert len(found) > 150
    return explainer, [explainer.explain(read) for read in found]


@pytest.fixture(scope="module")
def well(tmp_path_factory) -> tuple[RemoteExplainer, list[RemoteChain]]:
    """Return the run without losses."""
    return explain_all(tmp_path_factory.mktemp("why") / "remote.toml", "")


@pytest.fixture(scope="module")
def lossy(tmp_path_factory) -> tuple[RemoteExplainer, list[RemoteChain]]:
    """Return the run in which frames are lost and late."""
    more = "loss_percent = 2\nlate_percent = 2\nlink_seed = 1"
    return explain_all(tmp_path_factory.mktemp("why") / "lossy.toml", more)


@pytest.fixture(params=["well", "lossy"])
def explained(request: pytest.FixtureRequest) -> tuple[RemoteExplainer, list[RemoteChain]]:
    """Return one of the two runs."""
    return request.getfixturevalue(request.param)


def test_the_parts_of_every_remote_read_follow_each_other_and_add_up_to_the_ns(explained) -> None:
    """There is no gap and no overlap."""
    for chain in explained[1]:
        at_ns = chain.read.queued_ns
        for part in chain.parts:
            assert part.begin_ns == at_ns, chain.read
            assert part.ns > 0, chain.read
            at_ns = part.end_ns
        assert at_ns == chain.read.completed_ns
        assert sum(part.ns for part in chain.parts) == chain.read.response_ns


def test_every_remote_read_has_the_wire_and_the_server_in_it(explained) -> None:
    """The wire takes 800 ns for each byte of the reply, which has 4096 bytes of data and heads."""
    for chain in explained[1]:
        assert {"client", "wire", "server"} <= {part.place for part in chain.parts}
        assert sum(part.ns for part in chain.parts if part.place == "wire") > 4096 * 800


def test_the_run_has_all_that_a_remote_read_waits_for(well) -> None:
    """Parts of the server's drive, the busy wire, a queue behind writes, and computing."""
    _, chains = well
    words = {part.words for chain in chains for part in chain.parts}
    assert {"seek", "rotation", "transfer"} <= words  # of the server's drive
    assert any("waits while the wire has" in one for one in words)
    waits = [p for c in chains for p in c.parts if p.behind and "queue" in p.words]
    assert waits
    behind = [c for p in waits for c in p.behind]
    assert any(c.request.write for c in behind)
    # The time that no request explains is computing: some 0.2 ms for a call.
    computes = [p.ns for c in chains for p in c.parts if "nfsd) computes" in p.words]
    assert max(computes) < 2 * MS
    assert all(chain.tries == chain.calls == 1 for chain in chains)


def test_every_frame_arrives_when_the_row_of_the_link_says(well, lossy) -> None:
    """In the lossy run some frames are late, by multiples of 0.2 ms up to 20 ms, and some are lost.
    In the other run none is."""
    for explainer, _ in (well, lossy):
        for side in (explainer.client, explainer.server):
            late = {f.late_ns for f in side.frames}
            assert all(ns % (200 * US) == 0 and 0 <= ns <= 20 * MS for ns in late)
            assert (late == {0}) == (explainer is well[0])
            lost = [f for f in side.frames if f.arrival_ns is None]
            assert bool(lost) == (explainer is lossy[0])


def test_no_message_is_taken_before_it_arrives_on_the_one_axis(explained) -> None:
    """A message is taken when a process reads it. The clocks of both machines are one axis, so this
    would notice a shift."""
    explainer, _ = explained
    pairs = ((explainer.client, explainer.server), (explainer.server, explainer.client))
    for sender, receiver in pairs:
        waits = []
        for key, taken in receiver.taken.items():
            came = [m.arrival_ns for m in sender.messages[key] if m.arrival_ns is not None]
            assert len(taken) <= len(came)
            waits.append(taken[0].time_ns - min(came))
        # Taking in a frame costs 4,465 instructions; a process that waits has it soon after that.
        assert 0 < min(waits) < MS


def test_a_retransmission_is_named_with_what_was_lost(lossy) -> None:
    """A call is sent again after 700 ms or more. The words name the lost frame."""
    explainer, chains = lossy
    again = [chain for chain in chains if chain.tries > chain.calls]
    assert again
    words = {part.words for chain in again for part in chain.parts}
    assert any(re.match(r"the reply is lost on the wire \(frame \d.* of 3\)", w) for w in words)
    assert any(w.startswith("the call is lost on the wire (frame 1 of 1)") for w in words)
    for chain in again:
        lost = [p for p in chain.parts if "sent again" in p.words]
        assert len(lost) <= chain.tries - chain.calls
        assert all(p.place == "wire" and p.ns >= 700 * MS for p in lost)
    slowest = max(again, key=lambda chain: chain.read.response_ns)
    said = explain_remote_read(explainer, 1, slowest.read)
    assert "its call was sent again" in said
    assert re.search(r"^ +[\d,.]+ ms  wire: the (call|reply) is lost on the wire", said, re.M)


def test_the_words_name_the_wire_the_servers_disk_and_add_up(well) -> None:
    """The printed parts of the slowest read, and the times by place, sum to its response time."""
    explainer, chains = well
    slowest = max(chains, key=lambda chain: chain.read.response_ns)
    said = explain_remote_read(explainer, 7, slowest.read)
    assert "read 7: 8 sectors from " in said
    assert "disk1 (remote), for iogen read" in said
    *parts, total = [n.replace(",", "") for n in re.findall(r"^ +([\d.,]+) ms  ", said, re.M)]
    ns = [int(n.replace(".", "")) for n in (*parts, total)]
    assert sum(ns[:-1]) == ns[-1] == slowest.read.response_ns
    places = re.findall(r"([\d.]+) ms[,.]", said.splitlines()[-1])
    assert len(places) == len(PLACES)
    assert sum(int(n.replace(".", "")) for n in places) == slowest.read.response_ns


def test_the_command_explains_a_remote_read(capsys, tmp_path) -> None:
    """`sluice debug` refuses the run, because it has two machines."""
    path = tmp_path / "remote.toml"
    path.write_text(LOAD.format(more=""))
    assert enter("why", "--engine", ENGINE, "--run", "1", path) == 0
    said = capsys.readouterr().out
    assert "wire: the reply crosses the wire, at its rate: 3 frames, " in said
    assert "server's disk: rotation" in said
    assert "sluice theatre remote --run=1" in said
    assert enter("debug", "--run", "1", path) == 2
    assert "these runs have two" in capsys.readouterr().err


# ---- a trace made by hand ----

ROW = read_link_row("ethernet10")  # the link's figures: 800 ns a byte
XID = int.from_bytes(bytes([0, 0, 0, 9, 0, 0, 0, CALL]), "little")


def event(at_ns: int, name: str, block: int, argument: int = 0, pid: int = 3) -> Event:
    """Return an event of disk 0, with process 3 unless another is given."""
    return Event(at_ns, name, 0, block, pid, argument, False)


def test_frames_wait_for_the_senders_earlier_frames() -> None:
    """There are two datagrams of one frame each: the second waits until the first and a gap are
    over."""
    wire_ns = (1000 + 12) * 800  # of a frame of 1000 bytes, and 12 around it
    first_ns = 100 * US + wire_ns
    way_ns = ROW.propagation_ns + ROW.receive_ns
    second_ns = first_ns + ROW.gap_ns + wire_ns
    events = [
        event(0, "sent", XID, 1000 - 42, pid=3),
        event(0, "framed", 42, 1, pid=3),  # a question of ARP is no part of it
        event(0, "framed", 1000, 1, pid=3),
        event(5, "sent", XID, 1000 - 42, pid=4),
        event(5, "framed", 1000, 1 + second_ns, pid=4),
        event(9, "framed", 1000, 0, pid=4),  # it found no room
    ]
    side = Side(events, ROW)
    arp, one, other = side.frames
    assert arp.message is None
    assert one.begin_ns == arp.end_ns + ROW.gap_ns
    assert other.begin_ns == one.end_ns + ROW.gap_ns
    assert other.late_ns == 1 + second_ns - other.end_ns - way_ns
    lost, came = side.messages[9, CALL]
    assert (lost.whole, lost.arrival_ns) == (True, None)
    assert (came.pid, came.arrival_ns) == (4, 1 + second_ns)
    assert side.frames_between(arp.end_ns + 1, other) == [one]
