"""`sluice why`: what a read waited for, by a trace made by hand and by runs.

A chain is the explanation of a read: links that follow one another from its queueing to its end. A
link is a wait for a command of other requests, the drive's service, or something else. An origin
says who caused a command; a burst is a flush of the update daemon. In traces made by hand (`event`,
times in ns) all is on disk 1, whose drive takes 10 ms for each command. The fixture `explainer` has
the runs of MIXED on three drives.
"""

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
from either import ENGINE, load_experiment
from typed import enter

from sluice.debug.chain import SERVICE, WAIT, Chain, Explainer
from sluice.debug.instant import BadInstant, find, parse_time_ns, read_number, reads
from sluice.debug.narrative import explain_read, format_ms
from sluice.debug.stored_run import Kept, find_or_record
from sluice.experiment import service
from sluice.experiment.files import FOLDER
from sluice.export.recording import Recording
from sluice.system.requests import pair_requests
from sluice.system.trace import Event

pytestmark = pytest.mark.xdist_group("why")  # they share machines

MS = 10**6
POLICIES = {"sched": "fcfs", "update": "pu", "write": "delayed", "prefetch": "none"}
DISK = {"drive": "fixed", "size": "16M", "log_places": 0}
CONFIG = {
    **{"root": DISK, "data": DISK, "block": "4K"},
    **{"policies": POLICIES, "drive_command_us": None, "drive_segments": None},
    **{"drive_bus_kb_s": None, "drive_ahead_if_sequential": None, "drive_seed": None},
    **{"drive_ahead": None, "log_in_drive": None},
}
# Three random readers beside a sequential one with prefetching, and a writer whose blocks are
# flushed in bursts and join. The drive holds four commands, which are on their way for 0.3 ms.
MIXED = """\
claim = "every read can be explained"
source = "this test"

[machine]
nbuf = 200
drive_depth = {depth}
{more}
drive_command_us = 300

[machine.data]
drive = "{drive}"
size = "16M"
files = {{"/read" = "4M", "/write" = "2M"}}

[tunables]
"pu.interval_ms" = "2 s"

[[arms]]
name = "delayed"
policies = {{write = "delayed", update = "pu", sched = "{sched}", prefetch = "cluster"}}

[workload]
commands = \"\"\"
iogen bs=4k seed=1 name=read rw=randread filename=/data/read nr=150 numjobs=3 -- \\
    name=scan rw=read filename=/data/read nr=300 rate_iops=60 -- \\
    name=write rw=write filename=/data/write rate_iops=40 until=read
\"\"\"
"""


def event(at_ns: int, name: str, block: int, argument: int = 0, pid: int = 3) -> Event:
    """Return an event of disk 1. A name may begin with "write", as "write queued"."""
    write, _, name = name.rpartition(" ")
    return Event(at_ns, name, 1, block, pid, argument, write == "write")


def make_run(events: list[Event], config: dict = CONFIG) -> Kept:
    """Return a run with this trace, all of which is the measured part."""
    run = SimpleNamespace(config=config, experiment="made", number=1, name="by hand")
    done = sorted(pair_requests(events).done, key=lambda r: r.number)
    names = {2: "updated", 3: "reader"}
    made = Recording(run, 0, events[0].time_ns, events[-1].time_ns, done, 0, events, names)
    return Kept(run, made, Path("none"), 0, 0, 1024)


# Two blocks are flushed at 100 ms. The read comes at 105 ms. The drive takes 10 ms for anything.
BY_HAND = [
    event(20 * MS, "dirtied", 5),
    event(100 * MS, "writing", 5, 80 * MS, pid=2),
    event(100 * MS, "writing", 9, 80 * MS, pid=2),
    event(100 * MS, "write queued", 40, 8, pid=2),
    event(100 * MS, "write queued", 72, 8, pid=2),
    event(101 * MS, "write issued", 40, 8, pid=2),
    event(102 * MS, "flush", 0, 2, pid=2),
    event(105 * MS, "miss", 25),
    event(105 * MS, "queued", 200, 8),
    event(111 * MS + 7000, "write completed", 40, 11 * MS + 7000, pid=2),
    event(111 * MS + 9000, "write issued", 72, 8, pid=2),
    event(121 * MS + 19000, "write completed", 72, 21 * MS + 19000, pid=2),
    event(121 * MS + 20000, "issued", 200, 8),
    event(131 * MS + 27000, "completed", 200, 26 * MS + 27000),
]


@pytest.mark.native
def test_a_trace_made_by_hand_is_explained_link_by_link() -> None:
    """The read waits for the two writes of the burst, and is then served. A link is (kind, begin in
    ns since the read was queued, at 105 ms, length in ns)."""
    kept = make_run(BY_HAND)
    (read,) = reads(kept)
    chain = Explainer(kept).explain(read)
    found = [(link.kind, link.begin_ns - 105 * MS, link.ns) for link in chain.links]
    assert found == [
        ("wait", 0, 6 * MS + 7000),  # for the write at 40, until the kernel knows of its end
        ("other", 6 * MS + 7000, 2000),
        ("wait", 6 * MS + 9000, 10 * MS + 10000),
        ("other", 16 * MS + 19000, 1000),
        ("service", 16 * MS + 20000, 10 * MS),
        ("other", 26 * MS + 20000, 7000),
    ]
    waits = [link for link in chain.links if link.kind == WAIT]
    assert [link.command.physical for link in waits] == [40, 72]
    origins = {link.origin for link in waits}
    described = [(o.words, o.burst, o.blocks) for o in origins]
    assert described == [("the update daemon (update policy pu)", 6, 2)]


@pytest.mark.native
def test_the_words_for_it_name_the_burst_and_add_up() -> None:
    """The read's 26.027 ms are the sum of the parts that are printed."""
    kept = make_run(BY_HAND)
    said = explain_read(Explainer(kept), 1, reads(kept)[0])
    assert (
        "16.017000 ms  behind 2 writes of the update daemon (update policy pu), in a burst of 2 "
        "blocks (event 6), queued at 100.000 ms" in said
    )
    assert "10.000000 ms  the drive serves it" in said
    assert "queued at 105.000 ms (event 8), when 1 request waited; done at 131.027 ms" in said
    *parts, total = map(float, re.findall(r"^ +([\d.,]+) ms  ", said, re.M))
    assert total == 26.027
    assert sum(parts) == pytest.approx(total, abs=1e-9)


@pytest.mark.native
def test_the_disk_with_the_requests_of_a_trace_has_its_own_drive() -> None:
    """Disk 2 has the requests of a trace, while the load is on disk 1, an rz58. Disk 2 is `fixed`,
    and as large as its file: 32 bytes and 24 for each request, in whole sectors."""
    config = CONFIG | {"data": DISK | {"drive": "rz58", "log_places": 9}, "trace": {"count": 100}}
    steps = ((100, "queued", 8), (100, "issued", 8), (110, "completed", 10 * MS))
    events = [event(at * MS, name, 40, more)._replace(disk=2) for at, name, more in steps]
    made = make_run(events, config).recording
    (command,) = service.commands_by_disk(made.run, events)[2]
    assert (command.kind, command.done_ns - command.begin_ns) == ("fixed", 10 * MS)
    assert service.drive_tool_arguments(made.run, 2)[-1] == "sectors=5"
    assert (made.disk(1), made.disk(2)) == ("disk1 (rz58)", "disk2 (fixed)")


@pytest.mark.native
def test_a_merged_command_has_the_origins_of_all_its_requests() -> None:
    """A process writes block 6 at once, and this write joins that of block 5 from a burst."""
    events = [
        event(100 * MS, "writing", 5, 80 * MS, pid=2),
        event(100 * MS, "write queued", 40, 8, pid=2),
        event(100 * MS, "flush", 0, 1, pid=2),
        event(101 * MS, "writing", 6, 0),
        event(101 * MS, "write queued", 48, 8),
        event(102 * MS, "write issued", 40, 16, pid=2),
        event(105 * MS, "queued", 200, 8),
        event(112 * MS, "write completed", 40, 12 * MS, pid=2),
        event(112 * MS, "write completed", 48, 11 * MS),
        event(112 * MS, "issued", 200, 8),
        event(122 * MS, "completed", 200, 17 * MS),
    ]
    kept = make_run(events)
    wait, *_ = Explainer(kept).explain(reads(kept)[0]).links
    words = "the update daemon (update policy pu) and reader, at once (write policy delayed)"
    assert (wait.ns, wait.origin.words, wait.origin.burst) == (7 * MS, words, 2)
    said = explain_read(Explainer(kept), 1, reads(kept)[0])
    assert f"behind 2 writes in 1 command of {words}, in a burst of 1 block (event 2)" in said


@pytest.mark.native
def test_a_command_that_the_model_contradicts_is_one_piece() -> None:
    """The drive seems to be done with the read after 3 ms, where the model says 10 ms. So the
    command has no parts such as seek and rotation."""
    early = [replace_time(e, -7 * MS) if e is BY_HAND[-1] else e for e in BY_HAND]
    chain = Explainer(make_run(early)).explain(reads(make_run(early))[0])
    assert not chain.command.parts
    assert sum(link.ns for link in chain.links) == 19 * MS + 27000
    assert [link.words for link in chain.links if link.kind == SERVICE] == ["the drive serves it"]


def replace_time(e: Event, by_ns: int) -> Event:
    """Return the event moved by this time, with its response time changed as much."""
    return e._replace(time_ns=e.time_ns + by_ns, argument=e.argument + by_ns)


@pytest.mark.native
def test_a_time_a_number_and_the_longest_name_a_read_and_an_event() -> None:
    """read_number() finds a read, find() an event. A time names the first event or the read at or
    after it."""
    kept = make_run(BY_HAND)
    assert parse_time_ns("12.345s") == 12_345_000_000
    assert parse_time_ns("105ms") == 105 * MS
    assert parse_time_ns("105") is None
    assert [read_number(kept, word) for word in ("longest", "1", "110ms")] == [1, 1, 1]
    assert [find(kept, at).number for at in ("event:6", "read:1", "read:longest")] == [6, 8, 8]
    assert find(kept, "103ms").number == 7
    for wrong in ("event:14", "read:2", "read:200ms", "4s", "later", "event:x"):
        with pytest.raises(BadInstant, match=re.escape(f"--at={wrong}: ")):
            find(kept, wrong)


@pytest.mark.native
def test_the_longest_is_of_the_disk_that_is_measured() -> None:
    """The root disk's read takes longer, but is no part of the load."""
    of_root = [event(100 * MS, "queued", 64, 8), event(103 * MS, "issued", 64, 8)]
    of_root += [event(190 * MS, "completed", 64, 90 * MS)]
    both = sorted([*BY_HAND, *(e._replace(disk=0) for e in of_root)], key=lambda e: e.time_ns)
    kept = make_run(both)
    assert [r.disk for r in reads(kept)] == [0, 1]
    assert read_number(kept, "longest") == 2
    assert read_number(make_run([e._replace(disk=0) for e in both]), "longest") == 1


@pytest.mark.native
@pytest.mark.parametrize("option", ["--read=", "--at=read:"])
def test_a_load_that_only_writes_has_no_longest_read(option: str) -> None:
    """The load's own lines say that it read nothing, although the system read once. Then the
    longest read cannot be asked for; by its number the system's read can."""
    writes = [
        event(200 * MS + n, f"write {name}", 40, 8)
        for i in range(120)
        for n, name in ((3 * i, "queued"), (3 * i + 1, "issued"), (3 * i + 2, "completed"))
    ]
    kept = make_run([*BY_HAND, *writes])
    assert read_number(kept, "longest", option) == 1
    update = {"job": "update", "reads": 0, "writes": 122}
    silent = replace(kept, recording=replace(kept.recording, jobs=[update]))
    why = f"{option}longest: the load of this run has no read; the system has 1 while it runs, "
    with pytest.raises(BadInstant, match=re.escape(why + f"{option}1 ")):
        read_number(silent, "longest", option)
    assert read_number(silent, "1", option) == 1
    mixed = replace(kept, recording=replace(kept.recording, jobs=[update, update | {"reads": 1}]))
    assert read_number(mixed, "longest", option) == 1


@pytest.mark.native
def test_ms_have_all_their_digits() -> None:
    """Down to the nanosecond, with commas between thousands."""
    assert format_ms(7_418_918_400) == "7,418.918400"
    assert format_ms(5) == "0.000005"


TRACKS = 'drive_ahead = "track"'  # the drive reads ahead to the track's end


@pytest.fixture(
    scope="module",
    params=[(1, "rz58", "clook", ""), (4, "cheetah4lp", "fcfs", ""), (1, "rz58", "fcfs", TRACKS)],
)
def explainer(request: pytest.FixtureRequest, tmp_path_factory) -> Explainer:
    """Return the explainer of a run of MIXED."""
    depth, drive, sched, more = request.param
    path = tmp_path_factory.mktemp("why") / "mixed.toml"
    path.write_text(MIXED.format(depth=depth, drive=drive, sched=sched, more=more))
    return Explainer(find_or_record(load_experiment(path).runs[0], FOLDER))


def test_the_links_of_every_read_follow_each_other_and_add_up_to_the_ns(explainer) -> None:
    """There is no gap and no overlap."""
    chains = [explainer.explain(read) for read in reads(explainer.kept)]
    assert len(chains) > 500
    for chain in chains:
        at_ns = chain.read.queued_ns
        for link in chain.links:
            assert link.begin_ns == at_ns, chain.read
            assert link.ns > 0, chain.read
            at_ns = link.end_ns
        assert at_ns == chain.read.completed_ns
        assert sum(link.ns for link in chain.links) == chain.read.response_ns
    assert_all_cases(chains)


def assert_all_cases(chains: list[Chain]) -> None:
    """Check that a run has reads of all kinds: merged ones, some that waited for prefetching or for
    a burst, some that the drive's cache had, and some with all parts of a command."""
    assert any(len(c.command.requests) > 1 for c in chains)
    assert any("prefetched" in c.origin.words for c in chains)
    assert {"miss"} < {c.command.kind for c in chains}
    bursts = [c for c in chains for link in c.links if link.origin and link.origin.burst >= 0]
    assert bursts
    words = {link.words for c in chains for link in c.links}
    assert {"seek", "rotation", "transfer", "on its way to the drive"} <= words


def test_the_models_agree_with_the_trace_for_every_command(explainer) -> None:
    """Each command has parts that sum to its time. It is issued before it begins, and its end is
    known within 1.8 ms."""
    commands = [c for cs in explainer.commands.values() for c in cs]
    assert all(c.parts for c in commands)
    assert sum(len(c.requests) for c in commands) == len(
        pair_requests(explainer.kept.recording.events).done
    )
    for c in commands:
        assert sum(c.parts.values()) == c.done_ns - c.begin_ns
        # A burst is started without interrupts, 23 us for each of up to 75 blocks.
        assert c.issued_ns <= c.begin_ns <= c.done_ns <= c.completed_ns <= c.done_ns + 1_800_000


def test_no_two_commands_are_in_one_drive_at_a_time(explainer) -> None:
    """A drive is done with a command, and free, before the next one begins."""
    for commands in explainer.commands.values():
        for before, after in pairwise(commands):
            assert before.done_ns <= after.begin_ns
            assert before.free_ns <= after.begin_ns


def test_a_run_without_the_models_argument_would_be_noticed(explainer) -> None:
    """The same trace, explained by the model of another drive, contradicts that model in most
    commands."""
    config = explainer.kept.run.config
    other = config | {"data": config["data"] | {"drive": "st31230n"}}
    run = replace(explainer.kept.run, config=other)
    found = service.commands_by_disk(run, explainer.kept.recording.events)[1]
    assert sum(bool(c.parts) for c in found) < len(found) / 2


def test_the_command_prints_the_chain_and_how_to_see_it(capsys, tmp_path) -> None:
    """A read that does not exist is refused with their number."""
    path = tmp_path / "mixed.toml"
    path.write_text(MIXED.format(depth=1, drive="rz58", sched="clook", more=""))
    assert enter("why", "--engine", ENGINE, "--run", "1", "--read", "longest", path) == 0
    said = capsys.readouterr().out
    assert re.search(r"^ +[\d,.]+ ms  in all$", said, re.M)
    assert re.search(r"sluice debug mixed --run=1 --at=event:\d+$", said, re.M)
    assert enter("why", "--engine", ENGINE, "--run", "1", "--read", "9999", path) == 2
    assert "--read=9999: this run has reads 1 to" in capsys.readouterr().err
