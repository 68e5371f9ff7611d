"""The data that a power cut loses, and their age (loss.py): by traces made by hand, and by real
cuts.

A trace made by hand has events of block 5 of a file (FILE), at times in ms: `dirtied` (or
`absorbed`, if it was dirty already), `writing`, `write completed`. If the power were cut at a
moment, the modifications are lost that no completed write has; a modification's age is its time
until then. Figures: `age` is over all lost modifications, `oldest` is the oldest of a cut, `kib`
the mean loss, and `nothing_percent` the share of cuts that lose nothing.
"""

import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from sluice.experiment import loss, metrics, run
from sluice.experiment.catalogue import has_volatile_cache
from sluice.experiment.load import load
from sluice.experiment.metrics import LOSS_OFTEN, LOSS_OTHERS, find_metric_error
from sluice.experiment.schema import BadExperiment
from sluice.experiment.selection import twin_variant
from sluice.host.limits import HANG_S
from sluice.report.wording import metric_words
from sluice.system import image, trace
from sluice.system.image import Content
from sluice.system.qemu import Config, Disk
from sluice.system.trace import BadTrace, Event
from sluice.twin import engine

pytestmark = pytest.mark.native

MS = 10**6
BLOCK, SECTORS = 4096, 8
FILE = 7  # an inode: an owner of blocks
# A run, of which only the block's size and the drive matter
RUN = SimpleNamespace(config={"block": "4K", "data": {"drive": "fixed"}})


def event(at_ms: int, name: str, block: int, argument: int = 0, disk: int = 1) -> Event:
    """Return an event of a block. A name may begin with "write", as "write completed"."""
    write, _, name = name.rpartition(" ")
    at = block * SECTORS if name in ("completed", "failed") else block
    return Event(at_ms * MS, name, disk, at, 3, argument, write == "write")


def write_events(block: int, dirtied_ms: int, done_ms: int, owner: int = FILE) -> list[Event]:
    """Return the events of a block that becomes dirty, and whose write takes 1 ms."""
    return [
        event(dirtied_ms, "dirtied", block, owner),
        event(done_ms - 1, "writing", block, (done_ms - 1 - dirtied_ms) * MS),
        event(done_ms, "write completed", block),
    ]


def figures_of(events: list[Event], start_ms: int, end_ms: int, lost: int = 0):
    """Return the figures of losses from start to end, of events in any order. lost: events that the
    trace lacks."""
    events = sorted(events, key=lambda e: e.time_ns)
    return loss.loss_figures(RUN, events, lost, start_ms * MS, end_ms * MS)


def value(figures, what: str) -> float:
    """Return a figure of what files lose; ages in ms."""
    found = loss.loss_value(figures, "data", what)
    return found / MS if "." in what else found


def test_of_one_block_every_age_of_its_life_is_equally_likely() -> None:
    """The block is dirty from 10 to 30 ms; the run has 100 ms."""
    found = figures_of(write_events(5, 10, 30), 0, 100)
    assert value(found, "age.mean") == 10
    assert [value(found, f"age.p{p}") for p in (0, 25, 50, 95, 100)] == [0, 5, 10, 19, 20]
    assert value(found, "oldest.mean") == 2  # 10 ms in a fifth of the cuts, else 0
    assert [value(found, f"oldest.{p}") for p in ("p80", "p90", "max")] == [0, 10, 20]
    assert value(found, "nothing_percent") == 80
    assert value(found, "kib") == pytest.approx(0.2 * 4, abs=0.001)


def test_periodic_update_loses_what_theory_says() -> None:
    """Each ms a block becomes dirty, and every 30 ms all are written at once. So the oldest is
    (T + 1) / 2 old in the mean, and the modifications T / 3: each is lost until the end of its
    interval."""
    period, blocks = 30, []
    for at in range(300):
        end = at // period * period + period
        blocks += [event(at, "dirtied", at, FILE), event(end, "writing", at, (end - at) * MS)]
        blocks.append(event(end, "write completed", at))
    found = figures_of(blocks, 0, 300)
    assert value(found, "oldest.mean") == period / 2
    assert value(found, "oldest.max") == period
    assert value(found, "age.mean") == pytest.approx(period / 3, rel=0.02)
    assert value(found, "kib") == pytest.approx(4 * (period + 1) / 2)


def test_interval_periodic_update_always_has_a_block_of_nearly_that_age() -> None:
    """Each ms a block becomes dirty, and each is written 30 ms later."""
    blocks = [e for at in range(300) for e in write_events(at, at, at + 30)]
    found = figures_of(blocks, 100, 200)
    assert value(found, "oldest.mean") == 29.5
    assert value(found, "age.mean") == 15
    assert value(found, "kib") == 30 * 4
    assert value(found, "nothing_percent") == 0


def test_a_modification_is_safe_when_a_write_that_began_after_it_is_done() -> None:
    """At 10 and 20 ms the block is modified, at 25 its write begins; it ends at 30. A third
    modification comes at 40. So a cut from 10 to 30 or from 40 to 50 loses the block (4 KiB), with
    one or two modifications. `age` is the mean age of the lost modifications, `oldest` the age of
    the oldest one."""
    events = [
        event(10, "dirtied", 5, FILE),
        event(20, "absorbed", 5, FILE),
        event(25, "writing", 5, 15 * MS),
        event(30, "write completed", 5),
        event(40, "dirtied", 5, FILE),
    ]
    found = figures_of(events, 0, 50)
    # 20 ms of ages 0 to 20, 10 of 0 to 10, and 10 of 0 to 10
    assert value(found, "age.mean") == (20 * 10 + 10 * 5 + 10 * 5) / 40
    assert value(found, "oldest.mean") == (20 * 10 + 10 * 5) / 50
    assert value(found, "kib") == pytest.approx(30 / 50 * 4, abs=0.001)


def test_a_write_of_a_clean_block_is_a_modification_until_it_is_done() -> None:
    """A write without a `dirtied` event is a new modification; with one, it is not counted
    twice."""
    events = [event(10, "writing", 5), event(30, "write completed", 5)]
    assert value(figures_of(events, 0, 40), "age.max") == 20
    of_dirty = [event(10, "dirtied", 5, FILE), event(10, "writing", 5)]
    done = [event(30, "write completed", 5)]
    assert value(figures_of(of_dirty + done, 0, 40), "kib") == 2


def test_a_write_that_failed_makes_nothing_safe() -> None:
    """The block is dirty from 10 ms until the end, or until a second write succeeds at 50 ms."""
    failed = [event(30, "write completed", 5), event(30, "write failed", 5)]
    events = [event(10, "dirtied", 5, FILE), event(20, "writing", 5, 10 * MS), *failed]
    again = [event(40, "writing", 5, 30 * MS), event(50, "write completed", 5)]
    assert value(figures_of(events, 0, 100), "age.max") == 90
    assert value(figures_of(events + again, 0, 100), "age.max") == 40


def test_a_block_that_is_dropped_is_not_lost_and_a_read_saves_none() -> None:
    """A completed read changes nothing. A block that is cancelled (its file was removed) is no
    longer at risk."""
    events = [event(10, "dirtied", 5, FILE), event(20, "completed", 5)]
    assert value(figures_of(events, 0, 100), "age.max") == 90
    assert value(figures_of([*events, event(40, "cancelled", 5)], 0, 100), "age.max") == 30


def test_the_file_systems_own_blocks_and_other_disks_are_counted_apart() -> None:
    """Owner 0 is the file system. `data` counts files only, `all` counts both, and disk 0 is not
    counted."""
    events = [*write_events(5, 10, 20), *write_events(6, 0, 90, owner=0)]
    events += [event(0, "dirtied", 9, FILE, disk=0)]
    found = figures_of(events, 0, 100)
    assert value(found, "oldest.max") == 10
    assert loss.loss_value(found, "all", "oldest.max") == 90 * MS


def test_a_change_of_a_transaction_is_lost_until_the_transaction_is_in_the_log() -> None:
    """Block 5 is changed at 10 and 20 ms. The commit at 30 saves both, so that its write home at 60
    saves nothing more. At 70 it is changed again, which no commit saves before the end, at 100."""
    events = [
        event(10, "pinned", 5, FILE),
        event(20, "pinned", 5, FILE),
        event(30, "committed", 0, 1),
        event(30, "dirtied", 5, FILE),
        event(59, "writing", 5, 29 * MS),
        event(60, "write completed", 5),
        event(70, "pinned", 5, FILE),
    ]
    found = figures_of(events, 0, 100)
    ages = 20 * 10 + 10 * 5 + 30 * 15  # each modification's time in danger, by its mean age
    assert value(found, "age.mean") == pytest.approx(ages / 60)
    assert value(found, "oldest.max") == 30
    assert value(found, "nothing_percent") == 50


def test_a_block_that_waited_for_data_is_lost_until_it_is_written() -> None:
    """Then no later commit speaks for it, so what becomes dirty at 60 ms is a change."""
    events = [
        event(10, "pinned", 5, FILE),
        event(20, "writing", 5),
        event(30, "write completed", 5),
        event(40, "committed", 0, 1),
        event(60, "dirtied", 5, FILE),
    ]
    found = figures_of(events, 0, 100)
    assert value(found, "oldest.max") == 40
    assert value(found, "nothing_percent") == 40


def test_a_block_that_a_log_has_can_become_anothers_data() -> None:
    """The block is freed before it was written home; then a file gets it, and its write is at
    risk."""
    events = [
        event(10, "pinned", 5, 0),
        event(30, "committed", 0, 1),
        event(30, "dirtied", 5, 0),
        event(40, "cancelled", 5),
        *write_events(5, 50, 90),
    ]
    assert value(figures_of(events, 0, 100), "oldest.max") == 40


def test_the_measured_part_alone_counts_with_the_ages_that_blocks_have_then() -> None:
    """The block is dirty from 10 to 60 ms, and the measured part begins at 40 ms."""
    found = figures_of(write_events(5, 10, 60), 40, 140)
    assert value(found, "oldest.max") == 50
    assert value(found, "age.mean") == 40
    assert value(found, "nothing_percent") == 80


def test_a_run_that_loses_nothing_has_ages_of_zero() -> None:
    """A trace without events."""
    found = figures_of([], 0, 100)
    assert {value(found, f"{age}.{of}") for age in ("age", "oldest") for of in ("mean", "p99")} == {
        0
    }
    assert value(found, "nothing_percent") == 100


def test_a_trace_with_a_gap_is_refused() -> None:
    with pytest.raises(BadTrace, match="7 events were overwritten: a larger trace_k"):
        figures_of([], 0, 100, lost=7)


def test_metrics_of_the_loss_have_words_and_are_known() -> None:
    """Wrong names: no unit, a percentile above 100, and a unit for KiB."""
    assert metric_words("loss.data.oldest.p95_s").heading == (
        "95th percentile of the age of the oldest loss of files, s"
    )
    assert metric_words("loss.all.age.max_ms").heading == "highest age of a loss of all blocks, ms"
    assert metric_words("loss.data.kib").heading == "loss of files at a cut, KiB"
    for what in (*(f"oldest.{name}_ms" for name in LOSS_OFTEN), *LOSS_OTHERS):
        assert find_metric_error(f"loss.all.{what}", {}, {}) is None
    for bad in ("loss.data.oldest.p95", "loss.data.oldest.p101_s", "loss.data.kib_ms"):
        found = find_metric_error(bad, {}, {})
        assert found and found[0] == "metric", bad


EXPERIMENT = """\
claim = "losses are known"
source = "this test"

[machine]
loss_ages = 1
nbuf = 300

[machine.data]
drive = "rz58"
size = "16M"
files = {"/write" = "4M"}

[tunables]
"pu.interval_ms" = "5 s"

[[arms]]
name = "PU"
policies = {write = "delayed", update = "pu"}

[workload]
commands = "iogen bs=4k name=write rw=write filename=/data/write rate_iops=10 nr=400"

[plot]
columns = ["loss.data.oldest.mean_s"]
"""


def test_a_metric_of_the_loss_must_be_asked_for(tmp_path: Path) -> None:
    """The machine's key loss_ages makes a run compute losses."""
    path = tmp_path / "few.toml"
    path.write_text(EXPERIMENT.replace("loss_ages = 1", ""))
    with pytest.raises(BadExperiment, match=r'"loss\.data\.oldest\.mean_s" needs loss_ages = 1'):
        load(path)
    path.write_text(EXPERIMENT.replace("mean_s", "means_s"))
    with pytest.raises(BadExperiment, match=r'"loss\.data\.oldest\.means_s" is no metric'):
        load(path)


def test_a_drive_with_a_volatile_cache_is_refused(tmp_path: Path) -> None:
    """The calculation takes a completed write for safe, which it is not in such a cache."""
    assert has_volatile_cache("flash_cb") and not has_volatile_cache("flash_nv")
    path = tmp_path / "few.toml"
    path.write_text(EXPERIMENT.replace("rz58", "flash"))
    with pytest.raises(BadExperiment, match="the cache of flash is volatile"):
        load(path)


def test_without_the_key_a_configuration_is_what_it_was(tmp_path: Path) -> None:
    """The configuration has no new key, so runs made before the key existed are not made again."""
    path = tmp_path / "few.toml"
    text = EXPERIMENT.replace("loss.data.oldest.mean_s", "stat.disk.writes")
    path.write_text(text.replace("loss_ages = 1", "loss_ages = 0"))
    assert "loss_ages" not in load(path).runs[0].config


@pytest.mark.skipif(bool(engine.host_refusal_reason()), reason="no twin for this host")
def test_a_run_has_the_figures(tmp_path: Path) -> None:
    """The writer has 10 blocks a second, and PU an interval T of 5 s."""
    path = tmp_path / "few.toml"
    path.write_text(EXPERIMENT)
    made, _ = run.make_run(twin_variant(load(path)).runs[0], tmp_path / "console")
    names = [f"loss.data.{name}" for name in ("oldest.mean_s", "oldest.max_s", "age.mean_s", "kib")]
    mean, most, age, kib = metrics.evaluate_all(made, names).values()
    # theory: T / 2, T and T / 3, with T = 5 s
    assert 2 < mean < 3 and 4.9 < most < 6 and 1.4 < age < 2
    assert 80 < kib < 120


# ---- real cuts ----

WRITES = 400  # of the run whose trace is followed
CUTS = (123, 231, 257, 365)  # after so many writes the power goes
PLACES = 97  # blocks of the file
TUNED = "pu.interval_ms=50000 aipu.age_ms=50000 hac.share_percent=10 journal.commit_ms=50000"
JOURNAL = ("--journal", "4M")


def place_of(write: int) -> int:
    """Return the block of the file that a write goes to. Some come again soon, some late."""
    return write * write % PLACES


def cut_machine(folder: Path, args: str, writes: int, last: str) -> tuple[bytes, trace.Events]:
    """Run the writer in the twin, then cut the power. Returns the data disk after the cut, and the
    trace. Write n puts the number n at the beginning of a block. last: a command before the
    cut."""
    script = f"""mkdir /data; mount disk1 /data
for i in $(seq {writes}); do
    echo $i | dd of=/data/f bs=4k seek=$((i * i % {PLACES})) conv=notrunc 2> /dev/null; sleep 1
done
{last}
poweroff -n 9
"""
    journal = JOURNAL if "order=journal" in args else ()
    root = image.make_image(folder / "root.img", Content(rc=script, options=journal))
    options, size = ("--file", "/f=1M", *journal), "8M" if journal else "4M"
    content = Content(programs=False, size=size, options=options)
    data = image.make_image(folder / "data.img", content)
    boot = f"disk0.drive=none disk1.drive=rz58 check=1 trace_k=64 nbuf=600 {TUNED} {args}"
    machine = Config((Disk(root), Disk(data)), memory="64M", args=boot, lab=True)
    with machine.guest() as guest:
        done = subprocess.run(engine.twin_command(machine, guest), timeout=HANG_S)
        assert done.returncode == 9
        lost, events = trace.read_trace(guest.path, engine.ring_address(guest.path))
        assert not lost
        events = trace.Events(events.records().tobytes())
        guest.save()
    return data.read_bytes(), events


def differing_blocks(one: bytes, other: bytes) -> set[int]:
    """Return the numbers of the blocks in which two disks differ."""
    return {
        at // BLOCK
        for at in range(0, len(one), BLOCK)
        if one[at : at + BLOCK] != other[at : at + BLOCK]
    }


def number_in(disk: bytes, block: int) -> int:
    """Return the number of the write whose data is in a block; 0: none."""
    word = disk[block * BLOCK : block * BLOCK + 16].partition(b"\n")[0]
    return int(word) if word.isdigit() else 0


@pytest.mark.skipif(bool(engine.host_refusal_reason()), reason="no twin for this host")
@pytest.mark.drawn(3)
@pytest.mark.parametrize(
    "policies",
    ["update=pu", "update=aipu", "update=hac", "update=none", "update=none order=journal"],
)
def test_a_real_cut_loses_what_the_calculation_says(policies: str, tmp_path: Path) -> None:
    """The trace of one long run says what a cut at any time of it loses. The same run is then cut
    at some of these times. Its disk lacks exactly these blocks: it differs in them, and in no other
    block of the file, from the disk that it leaves if everything is written before the power goes.
    Each block that differs holds the write before the lost ones."""
    args = f"{policies} write=delayed"
    _, events = cut_machine(tmp_path, args, WRITES, ":")
    sizes = []
    for writes in CUTS:
        at_cut, until = cut_machine(tmp_path, args, writes, ":")
        synced, _ = cut_machine(tmp_path, args, writes, "sync")
        followed = loss.Follower(SECTORS)
        followed.follow((e for e in events if e.time_ns <= until[-1].time_ns), 1)
        lost = followed.list_lost()
        here = {block for block in differing_blocks(at_cut, synced) if number_in(synced, block)}
        assert here == set(lost)
        for block, modified in lost.items():
            place = place_of(number_in(synced, block))
            same_block = [0, *(n for n in range(1, writes + 1) if place_of(n) == place)]
            assert number_in(synced, block) == same_block[-1]
            assert number_in(at_cut, block) == same_block[-1 - len(modified)]
        sizes.append(len(lost))
    assert max(sizes) > (0 if policies == "update=hac" else 20), sizes
    assert min(sizes) > 0
