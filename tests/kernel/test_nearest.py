"""Locating a free sector: the time to the nearest one, on models of real drives, against the
formulas of Wang, Anderson and Patterson 1999.

The limit is a difference of 5 % at every utilisation up to 90 %, on both drives of the paper. The
40,000 trials of a point have a standard error of at most 1.1 %, at a utilisation of 10 %.
`measure` runs nearest_tool; times are in sectors that pass the head meanwhile.
"""

import subprocess

import pytest
from whole import draw_for_each

from sluice.host.limits import HANG_S
from sluice.host.paths import NATIVE
from sluice.theory import System, wang

pytestmark = pytest.mark.native

DRIVES = ("hp97560", "st19101")
BAR = 0.05
TRIALS = 40_000


def measure(drive: str, *words: object) -> tuple[dict[str, int], float]:
    """Return what nearest_tool prints: the drive's figures, and the mean time in sectors."""
    command = [NATIVE / "nearest_tool", drive, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, check=True)
    *words_of, mean = done.stdout.split()
    return dict(zip(words_of[::2], map(int, words_of[1::2]), strict=True)), float(mean)


@pytest.mark.parametrize("drive", draw_for_each(DRIVES, 3))
@pytest.mark.parametrize("used", range(10, 91, 10))
def test_a_free_sector_of_one_track_is_found_in_the_time_of_the_formula(drive: str, used: int):
    """used: percent of the track's sectors that are used, at random."""
    row, mean = measure(drive, used, 1, TRIALS, used)
    n = row["sectors"]
    free = 1 - round(n * used / 100) / n
    assert mean == pytest.approx(wang.mean_track_sectors(free, n), rel=BAR)


@pytest.mark.parametrize("drive", draw_for_each(DRIVES, 3))
@pytest.mark.parametrize("used", range(10, 91, 10))
def test_a_free_sector_of_a_cylinder_is_found_in_the_time_of_the_formula(drive: str, used: int):
    """To take a sector of another track of the cylinder costs a head switch."""
    row, _ = measure(drive, used, 1, 1, 1)
    row, mean = measure(drive, used, row["tracks"], TRIALS, used)
    told = wang.mean_cylinder_sectors(1 - used / 100, row["tracks"], row["switch"])
    assert mean == pytest.approx(told, rel=BAR)


@pytest.mark.parametrize("drive", DRIVES)
@pytest.mark.parametrize("left", [0.05, 0.1, 0.25, 0.5])
def test_a_track_is_filled_in_the_time_of_a_table_with_linear_probing(drive: str, left: float):
    """An empty track is filled until m of its n sectors are free; left is m / n. Each write takes
    the next free sector, as an insertion into a hash table with linear probing does."""
    row, _ = measure(drive, 0, 1, 1, 1)
    n = row["sectors"]
    m = round(n * left)
    _, mean = measure(drive, "fill", m, 400, m)
    assert mean == pytest.approx(wang.exact_fill_sectors(n, 0, m), rel=BAR)
    assert (
        wang.mean_fill_sectors(n, 0, m) < mean
    )  # runs of used sectors make it longer, not shorter


@pytest.mark.parametrize("drive", DRIVES)
def test_the_best_threshold_of_the_formula_is_the_one_that_is_measured_best(drive: str):
    """The threshold is how many sectors of a track are left free when writing goes on with another
    track. The cost of a write is its share of that switch and its mean time to a free sector."""
    row, _ = measure(drive, 0, 1, 1, 1)
    n, switch = row["sectors"], row["switch"]  # the time of a switch in sectors
    best = wang.best_threshold(n, switch)

    def cost(left: int) -> float:
        """Return the cost of a write, in sectors, if `left` sectors of a track are left free."""
        return switch / (n - left) + measure(drive, "fill", left, 400, 1)[1]

    assert cost(best) < cost(best // 2) and cost(best) < cost((best + n) // 2)


def test_a_threshold_of_all_sectors_of_a_track_is_refused():
    """left_sectors: how many of a track's 72 sectors are left free. A switch is rounded up to 8."""
    parameters = {"sectors": 72, "tracks": 19, "switch_sectors": 7.7, "used_share": 0.5}
    system = System({}, {}, "hp97560")
    told = wang.predict(system, parameters | {"left_sectors": 7})
    assert told["cylinder_sectors"] == wang.mean_cylinder_sectors(0.5, 19, 8)
    assert told["best_left_sectors"] == wang.best_threshold(72, 8)
    with pytest.raises(ValueError, match="left_sectors is 72"):
        wang.predict(system, parameters | {"left_sectors": 72})


def test_the_formulas_by_hand():
    """mean_... and exact_... give how many sectors pass, on average, before a free one comes. p is
    the share of free sectors. best_threshold gives how many of a track to leave free."""
    assert wang.mean_track_sectors(0.5, 2) == 0.5  # one of two is free: at once, or after one
    assert wang.mean_track_sectors(1, 72) == 0
    assert wang.mean_cylinder_sectors(0.5, 1, 9) == pytest.approx(1)  # a geometric mean (1 - p) / p
    # p is 3/4 for both tracks together
    assert wang.mean_cylinder_sectors(0.5, 2, 0) == pytest.approx(1 / 3)
    assert wang.mean_passed_sectors(4, 1) == pytest.approx(1 / 4)
    assert wang.mean_fill_sectors(3, 2, 1) == pytest.approx((2 + 1 / 3 + 0) / 2)
    # The first write passes nothing, the second 1/3 of a sector, the third one.
    assert wang.exact_fill_sectors(3, 2, 0) == pytest.approx((2 + 1 / 3 + 1) / 3)
    assert wang.best_threshold(3, 0) == 2 and wang.best_threshold(3, 2) == 0
