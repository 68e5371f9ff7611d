"""The event trace, as the host reads it from the machine's memory and as /dev/trace prints it.

The trace is a ring of records in memory: when it is full, a new event overwrites the oldest one,
which is counted as lost. trace_k is its size in 1024 events. trace.save copies it to a file, and
trace.load reads the file.
"""

import re
import time
from pathlib import Path

import pytest

from sluice.system import image, trace
from sluice.system.image import Content
from sluice.system.qemu import Config, Disk, Machine

SCRIPT = """
set -e
bench random /data 200
bench write /new 256k
sync
grep trace /dev/stat
uptime
"""


def run_traced(tmp_path, trace_k: int, script: str = SCRIPT):
    """Run a script with a trace. Returns the console, how many events were lost, and the events."""
    path = image.make_image(
        tmp_path / "disk.img", Content(rc=script, options=("--file", "/data=8M"))
    )
    config = Config((Disk(path),), args=f"drive=rz58 trace_k={trace_k}", lab=True)
    with Machine(config) as machine:
        result = machine.wait()
        assert result.status == 0, result.console
        if not trace_k:
            return result.console, 0, []
        phys = int(re.search(r"^trace.phys (\d+)", result.console, re.M)[1])
        lost, events = trace.read_trace(machine.guest.path, phys)
    return result.console, lost, list(events)


def test_every_request_is_queued_issued_and_completed_in_this_order(tmp_path):
    """The events of each block must follow each other so, and none may be under way at the end."""
    _, lost, events = run_traced(tmp_path, 64)
    assert lost == 0
    assert [e.time_ns for e in events] == sorted(e.time_ns for e in events)
    waiting: dict[int, str] = {}
    follows = {"queued": None, "issued": "queued", "completed": "issued"}
    completed = 0
    for event in events:
        # A request that was merged into another one's command has no event `issued`.
        if event.name in ("queued", "issued"):
            assert waiting.get(event.block) == follows[event.name], event
            waiting[event.block] = event.name
        elif event.name == "completed":
            assert waiting.pop(event.block) in ("issued", "queued"), event
            completed += 1
    assert completed > 250 and not waiting


def test_a_completed_request_carries_its_response_time(tmp_path):
    """The argument of the event `completed` is the time since `queued`, in ns."""
    _, _, events = run_traced(tmp_path, 64)
    queued = {}
    for event in events:
        if event.name == "queued":
            queued[event.block] = event.time_ns
        elif event.name == "completed":
            assert event.time_ns - queued[event.block] == event.argument


def test_an_overflow_is_counted_and_the_newest_events_are_kept(tmp_path):
    console, lost, events = run_traced(tmp_path, 1)
    assert len(events) == 1024
    assert lost > 0
    counted = int(re.search(r"^trace.lost (\d+)", console, re.M)[1])
    assert counted <= lost  # the script printed it before its end


def test_tracing_costs_a_few_instructions_of_virtual_time(tmp_path):
    """200 random reads take at most 2 % longer with a trace of 64 KiB."""

    def elapsed_ns(console: str) -> int:
        return int(re.search(r"^random 200 reads (\d+) ns", console, re.M)[1])

    without = elapsed_ns(run_traced(tmp_path, 0, "bench random /data 200\n")[0])
    with_trace = elapsed_ns(
        run_traced(tmp_path, 64, "bench random /data 200\ngrep trace /dev/stat\n")[0]
    )
    assert abs(with_trace - without) / without < 0.02


def test_dev_trace_prints_the_ring(run_script):
    out = run_script("cat /bin/sh > /dev/null; tail -n 400 /dev/trace", args="trace_k=4")
    lines = re.findall(r"^\d+ [a-z-]+ disk\d+ \d+ \d+ \d+$", out.console, re.M)
    assert len(lines) == 400
    assert any(" miss " in line for line in lines)


def test_a_reader_that_causes_events_comes_to_the_end_of_the_trace(run_script):
    """Writing what was read is traced: the text ends with what there was before."""
    count = "grep trace.written /dev/stat"
    script = f"cat /bin/sh > /copy; {count}; cat /dev/trace > /trace; wc -l /trace; {count}"
    out = run_script(script, args="trace_k=64 write=through").console
    before, after = map(int, re.findall(r"^trace.written (\d+)", out, re.M))
    lines = int(re.search(r"^(\d+) /trace$", out, re.M)[1])
    assert 50 < before <= lines < after - 50  # 50: the writes of the file are more events than that


def memory_of(path: Path, records: int, written: int) -> Path:
    """Make a file of a machine's memory, at this path, with a ring of this size in which `written`
    records were written, record i at i ns. Returns the path. A place of the ring has the last
    record that was written there: its number is the place's plus a multiple of `records`."""
    ring = [i + (written - 1 - i) // records * records for i in range(min(records, written))]
    rows = [trace.RECORD.pack(i, i, i | (i % 2) << 63, i % 9, i % 12, i % 3) for i in ring]
    head = trace.RING.pack(trace.MAGIC, records, written, 0)
    path.write_bytes(bytes(4096) + head + b"".join(rows))
    return path


RING_PHYS = trace.MEMORY_START + 4096  # where memory_of puts the ring


@pytest.mark.parametrize("written", [0, 5, 8, 9, 31])
def test_a_trace_file_holds_the_ring_in_order_and_tells_what_was_lost(tmp_path, written):
    """The ring has 8 records, so of more that are written the oldest are lost. Record i has i in
    its fields."""
    memory = memory_of(tmp_path / "ram", 8, written)
    trace.save(memory, RING_PHYS, tmp_path / "run.trace")
    lost, events = trace.load(tmp_path / "run.trace")
    assert lost == max(0, written - 8)
    assert [(e.time_ns, e.argument, e.write) for e in events] == [
        (i, i, i % 2 == 1) for i in range(lost, written)
    ]


def test_what_is_no_trace_file_is_refused(tmp_path):
    """A file is empty, has only the beginning, or is a byte too short or too long. Then the ring is
    looked for where there is none in memory."""
    good = tmp_path / "good.trace"
    trace.save(memory_of(tmp_path / "ram", 8, 5), RING_PHYS, good)
    for data in (b"", b"sluice trace", good.read_bytes()[:-1], good.read_bytes() + b"x"):
        bad = tmp_path / "bad.trace"
        bad.write_bytes(data)
        with pytest.raises(trace.BadTrace, match=str(bad)):
            trace.load(bad)
    for phys in (0, trace.MEMORY_START, RING_PHYS + (1 << 20)):
        with pytest.raises(trace.BadTrace, match="no trace at"):
            trace.save(tmp_path / "ram", phys, bad)


def test_events_are_a_sequence(tmp_path):
    """A trace's events are read from its file only when they are used. Each way to take some of
    them must give what the list of all gives."""
    trace.save(memory_of(tmp_path / "ram", 40, 40), RING_PHYS, tmp_path / "t")
    _, events = trace.load(tmp_path / "t")
    every = list(events)
    assert (len(events), len(every)) == (40, 40)
    assert [events[i] for i in (0, 7, -1)] == [every[i] for i in (0, 7, -1)]
    assert list(events[5:-30]) == every[5:-30]
    assert list(events[38:100]) == every[38:]
    assert events.index(every[17]) == 17
    for wrong in (40, -41):
        with pytest.raises(IndexError):
            events[wrong]
    with pytest.raises(ValueError, match="steps of 2"):
        events[::2]


def test_events_are_found_by_name(tmp_path):
    """select_named yields the events of these names with their indices."""
    many = 12 * 300  # so that several pieces are decoded; memory_of uses 12 kinds of events
    assert many > 3 * trace.AT_ONCE
    trace.save(memory_of(tmp_path / "ram", many, many), RING_PHYS, tmp_path / "t")
    _, events = trace.load(tmp_path / "t")
    assert list(events) == [events[i] for i in range(many)]
    names = ("completed", "queued")
    wanted = [(i, event) for i, event in enumerate(events) if event.name in names]
    assert list(events.select_named(*names)) == wanted
    of_names = {trace.event_names().index(name) for name in names}
    assert [i for i, _ in wanted] == [i for i in range(many) if i % 12 in of_names]
    with pytest.raises(ValueError, match="no event is called flsh"):
        list(events.select_named("flush", "flsh"))


def test_times_that_go_back_are_noticed():
    """The highest bit of a time is a valid bit: 2^63 ns is later than 3 ns."""
    rises = [trace.RECORD.pack(time_ns, 0, 0, 0, 0, 0) for time_ns in (3, 3, 1 << 63)]
    assert trace.Events(b"".join(rises)).times_rise()
    assert not trace.Events(b"".join(reversed(rises))).times_rise()
    assert trace.Events(b"").times_rise()


def test_an_event_that_no_kernel_knows_is_an_error():
    number = len(trace.event_names())
    events = trace.Events(trace.RECORD.pack(0, 0, 0, 0, number, 0))
    with pytest.raises(IndexError):
        list(events.select_named("queued"))


def test_a_million_events_are_read_in_seconds(tmp_path):
    million = 1_000_000
    trace.save(memory_of(tmp_path / "ram", million, million + 3), RING_PHYS, tmp_path / "t")
    start_s = time.process_time()
    lost, events = trace.load(tmp_path / "t")
    assert (lost, sum(1 for _ in events)) == (3, million)
    assert time.process_time() - start_s < 6  # of this process alone, however busy the machine
