"""How a drive spent its time (utilisation.py): by a trace made by hand, and in runs.

A drive's metrics are `drive.KIND.PART`: the kinds are read, write, map (writes of a virtual log's
map), moved, and all; the parts are commands, command (overhead), locating, transfer and service,
which is their sum. In traces made by hand the drive takes 10 ms for each command.
"""

import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from either import load_experiment

from sluice.debug.chain import Explainer
from sluice.debug.instant import reads
from sluice.debug.narrative import explain_read
from sluice.debug.stored_run import find_or_record
from sluice.experiment import metrics, run, utilisation
from sluice.experiment.files import FOLDER
from sluice.experiment.load import load
from sluice.experiment.schema import BadExperiment
from sluice.report.wording import metric_words
from sluice.system.requests import pair_requests
from sluice.system.trace import BadTrace, Event
from sluice.theory import eager
from sluice.theory.parts.drive_row import DriveRow, Zone

MS = 10**6
DISK = {"drive": "fixed", "size": "16M", "log_places": 0}
CONFIG = {
    **{"root": DISK, "data": DISK, "drive_command_us": None, "drive_segments": None},
    **{"drive_bus_kb_s": None, "drive_ahead_if_sequential": None, "drive_seed": None},
    **{"drive_ahead": None, "log_in_drive": None},
}
# A file on a disk with a virtual log is updated, in bursts with pauses in which a track is emptied.
LOGGED = """\
claim = "every command of a disk with a virtual log is known"
source = "this test"

[machine]
drive_times = 1
nbuf = 100

[machine.data]
drive = "hp97560"
size = "4M"
files = {{"/file" = "2M"}}
log_places = 1368
log_summaries = {summaries}

[[arms]]
name = "logged"
policies = {{place = "{place}", write = "async"}}

[workload]
commands = \"\"\"
iogen name=fill rw=write filename=/data/file bs=4k nr=512 fsync=512
iogen name=w rw=randrw filename=/data/file bs=4k nr=300 fsync=8 \\
    thinktime_us=300000 thinktime_blocks=30
sync
sleep 20
\"\"\"

[plot]
columns = ["drive.all.service_ms", "drive.idle_ms"]
"""


def event(at_ns: int, name: str, block: int, argument: int = 8) -> Event:
    """Return an event of disk 1. A name may begin with "write", as "write queued"."""
    write, _, name = name.rpartition(" ")
    return Event(at_ns, name, 1, block, 3, argument, write == "write")


def measure_drive(events: list[Event], start_ns: int, end_ns: int, lost: int = 0) -> dict:
    """Return the utilisation of the drive by these events, from start to end."""
    return utilisation.drive_utilisation(
        SimpleNamespace(config=CONFIG), events, lost, start_ns, end_ns
    )


@pytest.mark.native
def test_the_time_of_each_command_in_the_measured_part_is_counted() -> None:
    """The measured part is from 15 to 60 ms. The first read is before it. The last read takes 1 ms,
    and by the model 10 ms, so its parts are unknown."""
    events = []
    for at_ms, name, ends_ms in ((0, "", 10), (20, "", 30), (34, "write ", 44), (50, "", 51)):
        at = at_ms * MS
        events += [event(at, f"{name}queued", at_ms), event(at, f"{name}issued", at_ms)]
        response_ns = (ends_ms - at_ms) * MS + 1000
        events.append(event(at + response_ns, f"{name}completed", at_ms, response_ns))
    drive = measure_drive(events, 15 * MS, 60 * MS)
    assert [
        utilisation.utilisation_value(drive, name, "commands")
        for name in ("read", "write", "map", "all")
    ] == [*(2, 1, 0, 3)]
    assert utilisation.utilisation_value(drive, "all", "service") == 20 * MS
    assert utilisation.utilisation_value(drive, "all", "locating") == 0
    assert drive["unknown"] == 1
    assert drive["idle"] == 4 * MS + 6 * MS  # before the write, and before the last read
    with pytest.raises(BadTrace, match="7 events were overwritten: a larger trace_k"):
        measure_drive(events, 15 * MS, 60 * MS, lost=7)


@pytest.mark.native
def test_requests_of_a_virtual_log_are_told_from_its_own_commands() -> None:
    """Two writes are placed next to each other and are one command. Then the log writes a sector of
    its map (process 0) at the place that is also the logical sector of another write, which
    waits."""
    events = [
        event(0, "write queued", 80),
        event(0, "write queued", 16),
        event(1, "write placed", 16, 408),
        event(1, "write placed", 80, 400),
        event(1, "write issued", 80, 16),
        event(2, "write queued", 416),
        event(3, "write issued", 416, 1)._replace(pid=0),
        event(4, "write completed", 80, 4),
        event(4, "write completed", 16, 4),
        event(5, "write placed", 416, 424),
        event(5, "write issued", 416),
        event(6, "write completed", 416, 4),
    ]
    found = pair_requests(events)
    assert [(r.sector, r.issued_ns, r.command) for r in found.done] == [
        *((80, 1, 1), (16, 1, 1), (416, 5, 3))
    ]
    assert not found.incomplete_requests() and not found.length[1]


def run_logged(path: Path, place: str, summaries: int, more: str = "") -> Callable[[str], float]:
    """Run LOGGED with more settings of the machine, and return what reads its metrics."""
    text = LOGGED.format(place=place, summaries=summaries)
    path.write_text(text.replace("drive_times = 1", f"drive_times = 1\n{more}"))
    experiment = load_experiment(path)
    result, _ = run.make_run(experiment.runs[0], path.with_suffix(".console"))

    def metric(name: str) -> float:
        return result["virtual_ms"] if name == "virtual" else metrics.evaluate(result, name)

    return metric


@pytest.mark.parametrize("in_drive", [0, 1])
@pytest.mark.parametrize(("place", "summaries"), [("eager", 0), ("vld", 0), ("segments", 20)])
def test_all_commands_of_a_virtual_log_are_known(
    place: str, summaries: int, in_drive: int, tmp_path: Path
) -> None:
    """place: the policy that chooses places; in_drive: the drive itself keeps the log, so the log's
    commands have no overhead."""
    more = f"log_in_drive = {in_drive}\ndrive_command_us = 300"
    metric = run_logged(tmp_path / "logged.toml", place, summaries, more)
    assert metric("drive.unknown") == 0
    assert metric("drive.map.commands") == metric("stat.disk.map_writes") > 50
    for way in ("write", "read"):  # of some, several are one command
        assert 50 < metric(f"drive.{way}.commands") <= metric(f"hist.disk1.{way}_response.count")
    assert (
        (metric("drive.moved.commands") > 0)
        == (metric("stat.disk.moved") > 0)
        == (place != "eager")
    )
    for name in ("command", "locating", "transfer"):
        assert 0 < metric(f"drive.all.{name}_ns") < metric("drive.all.service_ns")
    parts = sum(metric(f"drive.all.{name}_ns") for name in ("command", "locating", "transfer"))
    assert parts == metric("drive.all.service_ns")
    assert metric("drive.all.service_ms") + metric("drive.idle_ms") < metric("virtual")
    for purpose in ("map", "moved"):
        assert (metric(f"drive.{purpose}.command_ns") > 0) == (
            not in_drive and metric(f"drive.{purpose}.commands") > 0
        )


def test_a_drive_that_keeps_its_log_is_given_one_command_for_an_update(tmp_path: Path) -> None:
    """A write of the map costs the way to its place and one sector's transfer, and no command
    overhead: a command of hp97560 takes 2.2 ms of its controller, and a sector 0.21 ms (a minute
    has 4002 turns, and a turn passes 72 sectors)."""
    metric = run_logged(tmp_path / "logged.toml", "eager", 0, "log_in_drive = 1")
    assert metric("drive.write.command_ns") == 2_200_000 * metric("drive.write.commands") > 0
    assert metric("drive.map.commands") == metric("stat.disk.map_writes") > 50
    assert metric("drive.map.command_ns") == 0
    each_ns = metric("drive.map.transfer_ns") / metric("drive.map.commands")
    assert each_ns == pytest.approx(60e9 / 4002 / 72, rel=0.01)


def test_a_read_that_waits_for_the_virtual_log_is_told_so(tmp_path: Path) -> None:
    """Two processes update the file, so that a read of one waits for the map's write of the
    other."""
    path = tmp_path / "logged.toml"
    text = LOGGED.format(place="eager", summaries=0)
    path.write_text(text.replace("fsync=8 ", "fsync=8 numjobs=2 "))
    kept = find_or_record(load_experiment(path).runs[0], FOLDER)
    explainer, said = Explainer(kept), ""
    for number, read in enumerate(reads(kept), 1):
        chain = explainer.explain(read)
        assert sum(link.ns for link in chain.links) == read.response_ns
        assert chain.command.parts
        said += explain_read(explainer, number, read)
    assert re.search(r"behind \d+ commands? of the disk's virtual log, which tells where", said)


def test_a_metric_of_the_drive_must_be_asked_for(tmp_path: Path) -> None:
    """The machine's key drive_times makes a run compute them."""
    path = tmp_path / "logged.toml"
    text = LOGGED.format(place="eager", summaries=0)
    path.write_text(text.replace("drive_times = 1", "drive_times = 0"))
    with pytest.raises(BadExperiment, match=r'"drive\.idle_ms" needs drive_times = 1'):
        load(path)
    path.write_text(text.replace("drive.idle_ms", "drive.write.seeks_ms"))
    with pytest.raises(BadExperiment, match=r'"drive\.write\.seeks_ms" is no metric'):
        load(path)


def test_metrics_of_the_drive_have_words() -> None:
    """Each metric's heading in reports."""
    assert metric_words("drive.write.locating_ms").heading == "locating of the drive's writes, ms"
    assert metric_words("drive.map.commands").heading == "the drive's writes of the map"
    each = "drive.map.rotation_us / drive.map.commands"
    assert metric_words(each).heading == "rotation per write of the map, µs"
    assert metric_words("drive.idle_s").heading == "time without a command, s"
    assert metric_words("drive.unknown").text == "commands of unknown parts"


# A drive with tracks of 8 sectors, which turns in 8000 ns
ROW = DriveRow(8000, 1, 1000, 0, 1, 1, 1, 0, 0, (Zone(0, 9, 8, 0, 0),), (0,))


def test_the_time_to_a_free_place_by_hand() -> None:
    """A track of two places of four sectors; the head comes from one that is used. So on average
    one of two is free. The first begins after two sectors on average, the second four later: if one
    is free, it is the first with probability 2/3."""
    # 2 sectors to the first place, 6 to the second
    assert eager.mean_locating_sectors(1, 4, ROW) == pytest.approx(2 * 2 / 3 + 6 * 1 / 3)


def test_other_tracks_count_from_the_head_switch_on() -> None:
    """More heads, and quicker switches to them, make the next free place come sooner."""
    # places every 4 sectors, one of them at 5, in a track of 8, from sector 3 on
    assert eager.start_times(5, 3, 4, 8) == [5, 9]

    def mean(heads: int, switch_ns: int) -> float:
        """Return the mean time to a free place, in sectors, if 30 % of the places are free."""
        zones = (Zone(0, 9, 80, 2, 0),)
        row = DriveRow(80_000, heads, switch_ns, 0, 1, 1, 1, 0, 0, zones, (0,))
        return eager.mean_locating_sectors(0.3, 4, row)

    assert mean(4, 1000) < mean(2, 1000) < mean(2, 9000) < mean(1, 1000)
    assert mean(2, 80_000) == pytest.approx(
        mean(1, 1000), rel=0.01
    )  # a switch as long as a rotation
