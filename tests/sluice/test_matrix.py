"""`sluice dev matrix`: policies with the fewest misses, and those whose reads take least time.

A setting is a load with one size of the cache. In it each policy has a cell: misses for each block
read, mean times of reads in ms, and blocks read ahead, each a list over seeds. The policy with the
fewest misses (`fewest`) loses if the reads of another (`quickest`) take less time; `loss` is by how
much. `asked` gives the options of the command, and `lru` makes it try LRU only.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from test_traces import ON_TWIN
from typed import enter

from sluice.experiment.catalogue import load_catalogue
from sluice.experiment.schema import BadExperiment
from sluice.experiment.summary import format_number
from sluice.host.paths import ROOT
from sluice.sweep import matrix, sizes
from sluice.sweep import trace_replay as replay
from sluice.sweep.matrix import Cell, MatrixRequest, Setting
from sluice.sweep.ranges import BadSweep
from sluice.trace.common import build_table
from sluice.trace.errors import BadTraceFile
from sluice.trace.packed import pack_requests

PAGE = ROOT / "book/pages/questions/victim.md"
STORED = ROOT / "results/matrix.json"
# Misses, times by seed, and blocks read ahead, for cells made by hand
FEW, SEEDS, NONE = [0.25] * 5, [1.0, 2.0, 3.0, 4.0, 5.0], [0.0]


def setting(*cells: Cell) -> Setting:
    """Return a setting with these cells."""
    return Setting("load", "64 buffers", list(cells))


@pytest.mark.native
def test_the_policy_with_the_fewest_misses_loses_by_the_time_that_its_reads_take_longer() -> None:
    """c misses least together with a, and is quicker than a: 1.2 ms. b is quickest with 1 ms, so c
    loses by 20 %."""
    cells = (("a", [0.2], [1.5]), ("b", [0.3], [1.0]), ("c", [0.2], [1.2]))
    found = setting(*(Cell(*cell, NONE) for cell in cells))
    assert [cell.policy for cell in found.fewest] == ["c", "a"]
    assert found.quickest.policy == "b"
    assert found.loss == pytest.approx(0.2) and found.loses
    row = ["load", "64 buffers", "c, a", "80.0", "0.0", "1.200", "b", "70.0", "0.0", "1", "20.0 %"]
    assert matrix.setting_row(found) == row
    assert matrix.summarise_settings([found]).startswith(
        "In 1 of 1 settings the policy with the fewest"
    )
    assert "at most by 20.0 % (load, 64 buffers: c against b)" in matrix.summarise_settings([found])


@pytest.mark.native
def test_with_seeds_a_policy_loses_only_if_the_interval_of_the_difference_says_so() -> None:
    """`slower` takes 0.1 ms more with each seed; `mixed` takes more with some seeds and less with
    others."""
    slower = Cell("a", FEW, [ms + 0.1 for ms in SEEDS], NONE)
    mixed = Cell("a", FEW, [1.5, 1.9, 3.4, 3.8, 5.3], NONE)
    other = Cell("b", [0.5] * 5, SEEDS, NONE)
    assert setting(slower, other).loses
    assert not setting(mixed, other).loses and setting(mixed, other).loss > 0
    assert matrix.setting_row(setting(mixed, other))[-1] == "not told apart"
    assert "In none of 1 settings" in matrix.summarise_settings([setting(mixed, other)])


@pytest.mark.native
def test_the_quickest_policy_does_not_lose_if_it_is_among_those_that_miss_least() -> None:
    """Misses of 0.2 and 0.2005 count as equal."""
    found = setting(Cell("a", [0.2], [1.0], NONE), Cell("b", [0.2005], [1.5], NONE))
    assert len(found.fewest) == 2 and found.quickest is found.fewest[0]
    assert matrix.setting_row(found)[-1] == "-"
    assert "In none of 1" in matrix.summarise_settings([found])


@pytest.mark.native
def test_hits_below_0_are_explained_in_the_text() -> None:
    """More than one miss for each block read gives hits below 0 %."""
    below = setting(Cell("a", [0.2], [1.0], NONE), Cell("b", [1.2], [1.5], NONE))
    above = setting(Cell("a", [0.2], [1.0], NONE), Cell("b", [1.0], [1.5], NONE))
    assert "Hits are below 0 where" in matrix.summarise_settings([above, below])
    assert "below 0" not in matrix.summarise_settings([above])


@pytest.mark.native
def test_blocks_that_a_trace_reads_are_counted_once() -> None:
    """Blocks 0, 1 and 256 are read; the last request writes."""
    requests = build_table(
        [(0, 0, 4096, 0), (0, 2048, 4096, 0), (0, 1 << 20, 1, 0), (0, 9 << 20, 9, 1)]
    )
    assert sizes.count_blocks_read(requests) == 3
    assert sizes.count_blocks_read(requests[3:]) == 0
    assert sizes.count_blocks_read(np.concatenate([requests, requests])) == 3


@pytest.fixture
def asked(tmp_path: Path, monkeypatch) -> Callable[..., MatrixRequest]:
    """Return what gives the options of `sluice dev matrix`, with changes. Experiments are written
    to the test's folder."""
    monkeypatch.setattr(replay, "EXPERIMENTS", tmp_path / "written")

    def choice(**given: object) -> MatrixRequest:
        """Return a request for a matrix, with these words in the place of the usual ones."""
        usual = {"name": "", "traces": "", "cache": "50, 90", "others": "", "drive": "lps540s"}
        usual |= {"count": None, "out": tmp_path / "out", "jobs": 1, "scheduler": ""}
        words = usual | {"folder": tmp_path} | given
        words["names"] = words.pop("name").split()
        words["traces"] = [Path(word) for word in str(words["traces"]).split()]
        return MatrixRequest(**words)

    return choice


@ON_TWIN
def test_every_policy_is_tried_with_every_cache_and_all_is_written(asked, tmp_path, capsys) -> None:
    """The trace reads 150 blocks in a loop. The caches hold half of these blocks, and 90 %."""
    path = tmp_path / "round.trace"
    path.write_text("".join(f"{i % 150}\n" for i in range(400)) + "*\n7\n")
    assert matrix.execute(asked(traces=str(path), others="prefetch=none|ondemand"))
    found = matrix.parse_settings((tmp_path / "out/matrix.json").read_text())
    assert [one.varied for one in found] == ["75 buffers", "135 buffers"]
    names = {f"{r}+{p}" for r in load_catalogue().policies["replace"] for p in ("none", "ondemand")}
    for one in found:
        assert {cell.policy for cell in one.cells} == names
        assert all(cell.took > 0 and len(cell.ms) == 1 for cell in one.cells)
        assert {cell.policy for cell in one.cells if sum(cell.ahead)} == {
            name for name in names if name.endswith("+ondemand")
        }
    small, large = ({c.policy: c.mean_misses for c in one.cells} for one in found)
    assert small["lru+none"] > 0.95  # it evicts each block just before it comes round
    assert large["lirs+none"] < 0.8 * large["lru+none"]
    said = capsys.readouterr().out
    written = (tmp_path / "out/matrix.md").read_text()
    assert len(re.findall(r"^\| round \| ", written, re.M)) == 2
    assert written.rpartition("|\n")[2].strip() in said
    assert all(format_number(one.quickest.took) in said for one in found)
    assert max(map(len, said.partition("\n\nIn ")[0].splitlines())) <= 80
    drawn = (tmp_path / "out/matrix.svg").read_text()
    assert all(name in drawn for name in names)


def measured_cells(choice: MatrixRequest) -> list[dict[str, Cell]]:
    """Return the measured cells of each setting, by policy."""
    assert matrix.execute(choice)
    found = matrix.parse_settings((choice.out / "matrix.json").read_text())
    return [{cell.policy: cell for cell in one.cells} for one in found]


def write_trace(path: Path, rows: list[tuple[int, int, int, int]]) -> str:
    """Write these requests as a trace, and return its path."""
    path.write_bytes(pack_requests(build_table(rows)))
    return str(path)


@pytest.fixture
def lru(monkeypatch) -> None:
    """Have only LRU tried."""
    monkeypatch.setattr(matrix, "policies_axis", lambda: "replace=lru")


@ON_TWIN
@pytest.mark.usefixtures("lru")
def test_writes_of_whole_blocks_are_no_misses_and_their_times_not_those_of_reads(
    asked, tmp_path
) -> None:
    """The writes go to 96 blocks that no read uses and that inodes point to directly. With them,
    the reads' misses and times stay nearly the same."""
    # (time, offset, bytes, write): the writes take turns in 12 MiB, at one of 8 blocks of each.
    reads = [(0, i * 65536, 4096, 0) for i in range(400)]
    writes = [(0, (i % 12 << 20) + (1 + i // 12 % 8) * 4096, 4096, 1) for i in range(400)]
    alone = write_trace(tmp_path / "alone.requests", reads)
    mixed = write_trace(
        tmp_path / "mixed.requests",
        [one for pair in zip(reads, writes, strict=True) for one in pair],
    )
    one, other = measured_cells(asked(traces=f"{alone} {mixed}", cache="50"))
    assert 1 < one["lru"].mean_misses < 1.5
    assert other["lru"].mean_misses == pytest.approx(one["lru"].mean_misses, abs=0.1)
    assert other["lru"].took > 0.9 * one["lru"].took


@ON_TWIN
@pytest.mark.usefixtures("lru")
def test_all_blocks_of_a_large_request_are_misses_and_so_are_blocks_written_in_part(
    asked, tmp_path
) -> None:
    """No block is cached when it is used, so there is one miss for each block that is used, and
    some more for blocks of pointers. In the first trace a request reads 16 blocks; in the second
    one a request reads or writes 512 bytes of a block."""
    rows = [(0, i % 40 * 65536, 65536, 0) for i in range(120)]
    large = write_trace(tmp_path / "large.requests", rows)
    parts = [(0, i * 65536 + 512, 512, i % 4 == 0) for i in range(400)]
    small = write_trace(tmp_path / "small.requests", parts)
    found = measured_cells(asked(traces=f"{large} {small}", cache="50"))
    assert all(1 <= one["lru"].mean_misses < 1.3 for one in found)


TWO_READERS = """
claim = "Two jobs read."
source = "a test"
[machine]
nbuf = 128
block = "8K"
[machine.data]
drive = "lps540s"
size = "32M"
files = {"/a" = "8M", "/b" = "8M"}
[[arms]]
name = "one"
[workload]
commands = "iogen bs=16k name=read rw=randread filename=/data/a nr=200 -- \
    name=scan rw=read filename=/data/b until=read"
[plot]
columns = ["read.mean_ms"]
"""


@ON_TWIN
@pytest.mark.usefixtures("lru")
def test_the_misses_of_all_jobs_are_divided_by_the_blocks_that_all_of_them_read(
    asked, tmp_path
) -> None:
    """The random reader's file is eight times as large as the cache, and the scan uses no block
    twice, so nearly each block is a miss."""
    path = tmp_path / "two.toml"
    path.write_text(TWO_READERS.replace("\\\n", ""))
    ((*_, cell),) = [one.values() for one in measured_cells(asked(name=str(path)))]
    assert 0.7 < cell.mean_misses < 1.2  # the reader's file is as large as the cache


@ON_TWIN
@pytest.mark.usefixtures("lru")
def test_a_job_that_writes_does_not_stand_for_the_time_of_reads(asked, tmp_path) -> None:
    """The job `read` reads and writes, so its response times are no times of reads."""
    path = tmp_path / "mixed.toml"
    path.write_text(TWO_READERS.replace("\\\n", "").replace("rw=randread", "rw=randrw"))
    with pytest.raises(BadExperiment, match=r"mixed: job\.read\.writes is not 0"):
        matrix.execute(asked(name=str(path)))


@ON_TWIN
def test_a_trace_that_reads_nothing_is_refused(asked, tmp_path) -> None:
    path = write_trace(tmp_path / "writes.requests", [(0, 0, 4096, 1)])
    with pytest.raises(BadSweep, match=r"writes\.requests: reads nothing"):
        matrix.execute(asked(traces=path))


@pytest.mark.native
def test_traces_are_called_by_their_names_and_no_two_alike(asked, monkeypatch) -> None:
    """Two traces with one name get digits of a hash of their paths."""
    monkeypatch.setattr(matrix, "trace_load", lambda name, path, choice: SimpleNamespace(name=name))
    words = "/a/w.2020-01.csv /a/w.2020-02.csv /a/cs.trace.gz /b/cs.trace.gz"
    names = [load.name for load in matrix.requested_loads(asked(traces=words))]
    assert names[:2] == ["w.2020-01", "w.2020-02"]
    assert all(re.fullmatch(r"cs-[0-9a-f]{6}", name) for name in names[2:])
    assert names[2] != names[3]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({}, "give an experiment, or a trace as --trace=a.csv.gz"),
        ({"traces": "/nowhere/x"}, "--trace: /nowhere/x: there is no such file"),
        ({"traces": "/nowhere/x", "count": -1}, "--count=-1: must be 1 or more"),
        ({"others": "replace=lru", "traces": "x"}, "--with: replace: all of its policies"),
        ({"others": "place=vld", "traces": "x"}, "--with: place: does nothing here"),
        ({"name": "no-such"}, "no-such: there is no such experiment"),
        ({"name": "mogul-4.3"}, "mogul-4.3: none of its jobs is called read or"),
    ],
)
def test_what_it_cannot_do_is_refused(asked, given: dict, why: str) -> None:
    with pytest.raises((BadSweep, BadTraceFile, BadExperiment), match=re.escape(why)):
        matrix.execute(asked(**given))


def test_a_matrix_speaks_of_its_own_options(tmp_path: Path, capsys, monkeypatch) -> None:
    """Its messages do not mention --over, or variables that only `sluice replay` has."""
    path = tmp_path / "round.trace"
    path.write_text("".join(f"{i}\n" for i in range(200)) + "*\n7\n")
    monkeypatch.setattr(replay, "EXPERIMENTS", tmp_path / "written")
    assert enter("dev", "matrix", "--trace", path, "--with", "prefetch=foo") == 2
    assert capsys.readouterr().err.startswith('--with: prefetch=foo: unknown prefetch policy "foo"')


@pytest.mark.parametrize("cache", ["0", "101", "ten", "10;20", ""])
def test_a_wrong_share_is_refused(cache: str) -> None:
    """Shares are percentages above 0 and up to 100, with commas between them."""
    with pytest.raises(BadSweep, match=re.escape(f"--cache={cache}: must be percentages")):
        sizes.parse_shares(cache)


def test_a_cache_below_the_least_is_refused(tmp_path: Path) -> None:
    """11 % of 150 blocks are 16 buffers, which is enough; 10 % are 15, which is not."""
    path = tmp_path / "round.trace"
    path.write_text("".join(f"{i}\n" for i in range(150)) + "*\n7\n")
    assert sizes.buffer_counts(path, "", None, "11, 50, 100") == [16, 75, 150]
    why = "--cache=50, 10: 10 % of the 150 blocks that round.trace reads are 15 buffers, and the "
    with pytest.raises(BadSweep, match=why + "kernel needs 16"):
        sizes.buffer_counts(path, "", None, "50, 10")


@ON_TWIN
@pytest.mark.usefixtures("lru")
def test_a_setting_always_has_the_size_of_the_cache(asked, tmp_path: Path) -> None:
    """The setting shows the size even if there is only one, or if the experiment has a size of its
    own (128 buffers)."""
    path = tmp_path / "round.trace"
    path.write_text("".join(f"{i}\n" for i in range(150)) + "*\n7\n")
    two = tmp_path / "two.toml"
    two.write_text(TWO_READERS.replace("\\\n", ""))
    assert matrix.execute(asked(traces=str(path), name=str(two), cache="20"))
    found = matrix.parse_settings((tmp_path / "out/matrix.json").read_text())
    assert [one.varied for one in found] == ["30 buffers", "128 buffers"]
    table = (tmp_path / "out/matrix.md").read_text()
    assert "| round | 30 buffers |" in table and "| two | 128 buffers |" in table


def replace_settings(found: list[Setting]) -> list[Setting]:
    """Return the settings with the replacement policies alone."""
    end = "+none"
    return [
        replace(
            one,
            cells=[
                replace(cell, policy=cell.policy.removesuffix(end))
                for cell in one.cells
                if cell.policy.endswith(end)
            ],
        )
        for one in found
    ]


@pytest.mark.native
def test_the_page_says_what_is_stored() -> None:
    """The book's page quotes the stored matrix, first with replacement policies only, then with
    prefetch policies as well."""
    text = PAGE.read_text()
    combined = matrix.lengthen_settings(STORED.read_text())
    for found in (replace_settings(combined), combined):
        lost = [one for one in found if one.loses and one.quickest not in one.fewest]
        worst = max(lost, key=lambda one: one.loss)
        assert f"in {len(lost)} of the {len(found)} settings" in text
        assert f"at most by {100 * worst.loss:.1f} %" in text
        assert f"`{worst.fewest[0].policy}` against `{worst.quickest.policy}`" in text


@pytest.mark.native
def test_the_short_form_keeps_all_but_digits() -> None:
    """Times are stored with five digits."""
    several = [
        Cell("a", [0.25, 0.5], [1.2345678, 2.0], [0.0, 0.1]),
        Cell("b", [0, 1], [2, 3], [0, 0]),
    ]
    found = [setting(*several), setting(Cell("b", [0.125], [3.5], [0.0]))]
    assert matrix.lengthen_settings(matrix.shorten_settings(found)) == [
        replace(found[0], cells=[replace(several[0], ms=[1.2346, 2.0]), several[1]]),
        found[1],
    ]
