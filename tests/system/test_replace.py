"""Replace policies: hits on the host as in independent models, and promises in the kernel.

On the host, the program replace_hits_tool counts a policy's hits on a trace, a sequence of block
numbers; it links the policy's own source. The models are Python functions, written from the papers
(replace_models.py).
"""

import json
import re
import subprocess
from functools import cache

import pytest
from conftest import MakeImage, Run
from either import run_rc
from replace_models import MODELS, optimal
from whole import draw_for_each

from sluice.host.paths import BUILD, ROOT
from sluice.system import devtext
from sluice.system.qemu import Config, Disk

POLICIES = sorted(path.stem for path in ROOT.glob("policies/replace/*.c"))
SIZES = [8, 50, 100, 400]  # of the cache, in blocks
MASK = (1 << 64) - 1


def splitmix64(seed: int):
    """Yield random numbers of 64 bits (SplitMix64: Steele, Lea and Flood, OOPSLA 2014)."""
    while True:
        seed = (seed + 0x9E3779B97F4A7C15) & MASK
        z = seed
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        yield z ^ (z >> 31)


@cache
def trace(seed: int = 1, uses: int = 20_000) -> tuple[int, ...]:
    """Return the blocks of a trace: a few blocks are used often, some at times, and a scan passes.

    5 of 10 uses are of 200 hot blocks, the lower ones more often; every 5,000 uses these blocks
    move on by 50. 3 of 10 uses are of 1,000 blocks, all with the same probability. 2 of 10 are the
    scan's, of blocks from 1,000 on.
    """
    random = splitmix64(seed)
    blocks = []
    for i in range(uses):
        kind = next(random) % 10
        if kind < 5:
            blocks.append(i // 5000 * 50 + min(next(random) % 200, next(random) % 200))
        elif kind < 8:
            blocks.append(next(random) % 1000)
        else:
            blocks.append(1000 + i % 4000)
    return tuple(blocks)


@pytest.fixture
def hits(native):
    """Return a function: hits(policy, trace, size) is how many uses hit a cache of that size, as
    the policy's own code counts them."""
    tool = native("replace_hits_tool")

    def count(policy: str, blocks: tuple[int, ...], size: int) -> int:
        """Return how many uses of these blocks are hits in a cache of this size."""
        text = " ".join(map(str, blocks))
        done = subprocess.run(
            [tool, policy, str(size)], input=text, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return int(done.stdout)

    return count


# Hits among the 20,000 uses of trace(), in caches of SIZES. They are those of the policies as they
# are: a change of a policy that changes its answers is noticed.
EXPECTED = {
    "lru": [320, 2021, 3799, 10189],
    "clock": [324, 2089, 4024, 10685],
    "2q": [496, 3158, 5738, 11364],
    "arc": [519, 3461, 6399, 11937],
    "car": [528, 3518, 6540, 11922],
    "lirs": [567, 3649, 6583, 11929],
    "sieve": [492, 3283, 5887, 11184],
    "s3fifo": [568, 3552, 6492, 11720],
    "wtinylfu": [517, 3698, 7004, 11817],
    "clockpro": [520, 3610, 6648, 11933],
    "mglru": [343, 2062, 4423, 10953],
    "cflru": [320, 2021, 3799, 10189],  # all clean, so LRU's
}


@pytest.mark.native
@pytest.mark.parametrize("policy", EXPECTED)
def test_a_policy_has_the_expected_hits_on_the_fixed_trace(hits, policy: str) -> None:
    assert [hits(policy, trace(), size) for size in SIZES] == EXPECTED[policy]


@pytest.mark.native
def test_the_program_whose_speed_is_told_has_no_sanitizer_and_the_same_hits(native) -> None:
    """The program is built twice: with two sanitizers for the tests, and without for measurements
    of its speed, because they make it take up to three times as long."""
    plain, checked = BUILD / "plain" / "replace_hits_tool", native("replace_hits_tool")
    for tool, sanitized in ((plain, False), (checked, True)):
        line = ["nm", str(tool)]
        names = subprocess.run(line, capture_output=True, text=True, check=True).stdout
        assert (("__asan_" in names) or ("__ubsan_" in names)) == sanitized
    text = " ".join(map(str, trace(2, 3000)))
    for policy in EXPECTED:
        line = [plain, policy, "33"], [checked, policy, "33"]
        fast, slow = (subprocess.run(of, input=text, capture_output=True, text=True) for of in line)
        assert (fast.returncode, fast.stdout) == (0, slow.stdout)


@pytest.mark.native
@pytest.mark.parametrize("policy", draw_for_each(MODELS, 3))
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 33, 150])
def test_a_policy_hits_as_often_as_an_independent_model(hits, policy: str, size: int) -> None:
    for seed in range(2, 5):
        blocks = trace(seed, 3000)
        assert hits(policy, blocks, size) == MODELS[policy](blocks, size)


@pytest.mark.native
@pytest.mark.parametrize("policy", POLICIES)
def test_no_policy_hits_more_often_than_the_optimum(hits, policy: str) -> None:
    blocks = trace(uses=3000)
    for size in SIZES:
        assert 0 < hits(policy, blocks, size) <= optimal(blocks, size)


# ---- a policy has tables of its own, for which the kernel needs memory ----

TAKE_EACH = "".join(f"policy use replace {policy} || echo refused\n" for policy in POLICIES)
REFUSED = re.compile(
    r"replace/(\w+): it needs more memory in one piece than is left: lower nbuf$", re.M
)


@pytest.fixture
def refused(run_script: Run):
    """Return a function: refused(script, args="nbuf=16") is the list of policies that are refused
    for want of memory after the script."""

    def run(script: str, **how: object) -> list[str]:
        result = run_script(f"{script}{TAKE_EACH}echo all asked\n", **how)
        assert result.status == 0 and "all asked" in result.console, result.console
        found = REFUSED.findall(result.console)
        assert len(found) == result.console.count("refused"), result.console
        return found

    return run


def test_policies_have_memory_after_a_program_had_all(refused) -> None:
    hog = "usertests a_process_that_takes_all_memory_dies_alone\n"
    assert not refused(hog, args="nbuf=4096", memory="64M")


def test_a_policy_is_refused_where_memory_is_short(refused) -> None:
    """12,300 buffers of 4 KiB are 48 MiB. The script is empty."""
    assert refused("", args="nbuf=12300", memory="64M")
    assert not refused("", args="nbuf=12300", memory="128M")


# While a file is read from end to end, 40 blocks are read again and again. The cache
# has room for them, and for some 30 more.
SCAN = """
iogen name=hot rw=randread filename=/hot thinktime_us=10000 until=scan -- \
 name=scan rw=read filename=/big nr=1200
"""


@pytest.fixture
def hot_ms(make_image: MakeImage):
    """Return a function: hot_ms("lru") is the mean time in ms of a read of those 40 blocks while
    the scan goes on."""

    def run(policy: str) -> float:
        path = make_image(rc=SCAN, options=("--file", "/hot=160K", "--file", "/big=8M"))
        args = f"replace={policy} drive=fixed nbuf=72 check=1"
        result = run_rc(Config((Disk(path),), args=args, lab=True))
        assert result.status == 0, result.console
        jobs = [line for line in result.console.splitlines() if line.startswith("iogen {")]
        return json.loads(jobs[0].removeprefix("iogen "))["response_ns"]["mean"] / 1e6

    return run


@pytest.mark.parametrize(
    "policy", ["2q", "arc", "car", "clockpro", "lirs", "s3fifo", "sieve", "wtinylfu"]
)
def test_a_scan_leaves_alone_what_is_read_again(hot_ms, policy: str) -> None:
    """Under LRU the scan evicts the 40 blocks. These policies keep most of them."""
    assert hot_ms(policy) < hot_ms("lru") / 2


# 60 blocks become dirty and are not used again; then 60 others are read again and again. The cache
# of these tests has 100.
COLD_DIRTY = """
iogen rw=write filename=/cold bs=4k nr=60
iogen rw=randread filename=/hot bs=4k size=240k nr=2000
"""
# 60 blocks are modified and 200 others read at random, more than there is room for.
HOT_DIRTY = """
iogen bs=4k name=w rw=zipfwrite filename=/cold size=240k nr=1000 thinktime_us=10000 -- \
 name=r rw=randread filename=/hot size=800k nr=1000
"""


@pytest.fixture
def counted(make_image: MakeImage):
    """Return a function: counted(script, "replace=lru") returns the counters of /dev/stat after
    the script, under no update policy."""

    def run(script: str, args: str) -> dict[str, int]:
        options = ("--file", "/hot=800K", "--file", "/cold=240K")
        path = make_image(rc=f"{script}echo @\ncat /dev/stat\n", options=options)
        args = f"{args} nbuf=100 drive=fixed write=delayed update=none check=1"
        result = run_rc(Config((Disk(path),), args=args, lab=True))
        assert result.status == 0, result.console
        stat = devtext.parse_stat(result.console.split("@\n")[1])
        return {name: value for name, (value, _) in stat.items()}

    return run


def test_cflru_lets_cold_dirty_blocks_go_and_keeps_what_is_read(counted) -> None:
    """LRU never makes a dirty block the victim, so the blocks that are read have only 40 buffers.
    With cflru the cold dirty blocks go."""
    lru, cflru = (counted(COLD_DIRTY, f"replace={name}") for name in ("lru", "cflru"))
    assert cflru["bio.misses"] < lru["bio.misses"] / 2
    assert lru["bio.dirty_victims"] == 0 < cflru["bio.dirty_victims"]


def test_cflru_writes_less_the_wider_its_window(counted) -> None:
    """Within the window cflru evicts clean blocks before dirty ones. A wider window has more clean
    ones, so fewer dirty blocks are written."""
    writes = [
        counted(HOT_DIRTY, f"replace=cflru cflru.window_percent={percent}")["bio.written"]
        for percent in (0, 25, 75)
    ]
    assert writes[0] > writes[1] > writes[2]
