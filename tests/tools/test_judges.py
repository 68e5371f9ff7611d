"""`sluice dev judges` compares hits of our replace policies with those of other programs (judges):
libCacheSim and Caffeine's simulator. A letter behind a difference names its known cause; `!` says
that no cause is known.
"""

from pathlib import Path

import numpy as np
import pytest

from sluice.trace.common import REQUEST
from tools.judges import caffeine, command, libcachesim
from tools.judges.command import BLOCK, OPTIMUM, OURS, Judged

# A report as Caffeine's simulator writes it, with 0, 1, 2 and so on as hits.
REPORT = "Policy,Hit Rate,Hits\n" + "".join(
    f"{name}{' (1%)' if name == 'sketch.WindowTinyLfu' else ''},1.00,{n}\n"
    for n, name in enumerate(caffeine.POLICIES.values())
)


def judged(policy: str, judge: str, theirs: list[int | None], sizes: list[int]) -> Judged:
    """Return a trace in which a judge has other hits than ours, which are 100."""
    ours: list[int | None] = [100] * len(sizes)
    counts = {OURS: {policy: ours}, libcachesim.NAME: {}, caffeine.NAME: {}}
    counts[judge] = {policy: theirs}
    return Judged("made", 1000, 500, sizes, counts)


def test_a_request_uses_each_block_that_it_touches() -> None:
    table = np.zeros(3, REQUEST)
    table["offset"] = [7 * BLOCK + 512, 2 * BLOCK, 9 * BLOCK]
    table["bytes"] = [2 * BLOCK, BLOCK, 1]
    # The first request touches three blocks, the others one each. Blocks are numbered by place.
    assert command.block_uses(table).tolist() == [1, 2, 3, 0, 3]


def test_the_simulators_report_is_read_by_the_names_of_policies() -> None:
    """REPORT has a row for each policy, with its place in the list as its hits."""
    assert caffeine.parse_report(REPORT) == {
        policy: n for n, policy in enumerate(caffeine.POLICIES)
    }
    with pytest.raises(caffeine.JudgeMissing, match=r"no irr\.Lirs"):
        caffeine.parse_report(REPORT.replace("irr.Lirs", "irr.Others"))


@pytest.mark.parametrize(
    ("policy", "judge", "theirs", "fields", "met"),
    [
        ("lru", libcachesim.NAME, [100, 99], ["=", "-1 !"], {"!"}),
        (OPTIMUM, caffeine.NAME, [100, 101], ["=", "+1 !"], {"!"}),
        ("arc", libcachesim.NAME, [90, 100], ["-10 a", "="], {"a"}),
        ("arc", caffeine.NAME, [90, 100], ["-10 !", "="], {"!"}),
        ("wtinylfu", libcachesim.NAME, [None, 80], ["-", "-20 e"], {"e"}),
        ("s3fifo", caffeine.NAME, [101, 95], ["+1 h", "-5 h"], {"h"}),
        ("wtinylfu", caffeine.NAME, [100, 95], ["=", "-5 i"], {"i"}),
        ("car", caffeine.NAME, [95, 100], ["-5 !", "="], {"!"}),
    ],
)
def test_a_difference_has_its_cause_or_is_marked(
    policy: str, judge: str, theirs: list[int | None], fields: list[str], met: set[str]
) -> None:
    """A judge had `theirs` hits at two sizes of the cache, where we had 100. fields: what the table
    shows of them; met: the letters of the causes, or `!`."""
    one = judged(policy, judge, theirs, [100, 155])
    assert command.judged_fields(one, policy, judge) == fields
    assert command.causes_met([one]) == met
    lines = command.describe([one])
    assert ("!: no cause is known" in lines) == ("!" in met)


def test_each_letter_of_a_cause_is_described() -> None:
    assert {*command.MAY_DIFFER.values()} == {*command.CAUSES}


def test_a_cache_in_which_a_judge_does_not_end_is_refused(tmp_path: Path) -> None:
    """Caffeine's simulator never ends if the cache has too few blocks."""
    path = tmp_path / "small.trace"
    path.write_text("".join(f"{block}\n" for block in range(command.LEAST)), encoding="utf-8")
    with pytest.raises(caffeine.JudgeMissing, match=r"of 5 blocks is too small .* of 10 of its 10"):
        command.judge_trace(path, [50])
