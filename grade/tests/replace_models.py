"""Replace policies as their papers have them: the hits of a trace, by the simplest code.

Each function takes the blocks that are used, in order, and the size of the cache; it
shares nothing with the policy of its name, whose hits must be the same. `optimal` is
what no policy can surpass.
"""

from collections import OrderedDict, deque
from collections.abc import Sequence
from functools import partial
from operator import floordiv, truediv


def optimal(trace: Sequence[int], size: int) -> int:
    """Belady's: the victim is the block whose next use is furthest away."""
    last: dict[int, int] = {}
    next_use = [len(trace) + i for i in range(len(trace))]
    for i, block in enumerate(trace):
        if block in last:
            next_use[last[block]] = i
        last[block] = i
    cache: dict[int, int] = {}
    hits = 0
    for i, block in enumerate(trace):
        hits += block in cache
        if block not in cache and len(cache) == size:
            del cache[max(cache, key=cache.__getitem__)]
        cache[block] = next_use[i]
    return hits


def lru(trace: Sequence[int], size: int) -> int:
    cache: OrderedDict[int, None] = OrderedDict()
    hits = 0
    for block in trace:
        hits += block in cache
        cache[block] = None
        cache.move_to_end(block)
        if len(cache) > size:
            cache.popitem(last=False)
    return hits


def clock(trace: Sequence[int], size: int) -> int:
    frames: list[int] = []
    marked: dict[int, bool] = {}  # of the blocks in frames
    hand = hits = 0
    for block in trace:
        if block in marked:
            hits += 1
            marked[block] = True
            continue
        if len(frames) < size:
            frames.append(block)
        else:
            while marked[frames[hand]]:
                marked[frames[hand]] = False
                hand = (hand + 1) % size
            del marked[frames[hand]]
            frames[hand] = block
            hand = (hand + 1) % size
        marked[block] = False
    return hits


def two_q(trace: Sequence[int], size: int, name_first: bool = False) -> int:
    """name_first: a block's name is taken out of A1out before room is made for the block, and not
    afterwards, when that may have pushed the name out."""
    a1in: deque[int] = deque()
    a1out: deque[int] = deque(maxlen=size // 2)
    am: OrderedDict[int, None] = OrderedDict()
    hits = 0
    for block in trace:
        if block in am:
            am.move_to_end(block)
        hits += block in am or block in a1in
        if block in am or block in a1in:
            continue
        remembered = name_first and block in a1out
        if remembered:
            a1out.remove(block)
        if len(a1in) + len(am) == size:
            if len(a1in) > size // 4:
                a1out.append(a1in.popleft())
            else:
                am.popitem(last=False)
        if remembered:
            am[block] = None
        elif block in a1out:
            a1out.remove(block)
            am[block] = None
        else:
            a1in.append(block)
    return hits


def arc(trace: Sequence[int], size: int, whole: bool = True) -> int:
    """Figure 4 of the paper. whole: p changes by whole blocks; else by the fractions of the
    paper."""
    part = floordiv if whole else truediv
    t1, t2, b1, b2 = (OrderedDict() for _ in range(4))
    p = hits = 0

    def replace(in_b2: bool) -> None:
        first = t1 and (len(t1) > p or (in_b2 and len(t1) == p))
        from_, to = (t1, b1) if first else (t2, b2)
        to[from_.popitem(last=False)[0]] = None

    for x in trace:
        if x in t1 or x in t2:
            hits += 1
            (t1 if x in t1 else t2).pop(x)
            t2[x] = None
        elif x in b1:
            p = min(p + max(1, part(len(b2), len(b1))), size)
            replace(False)
            del b1[x]
            t2[x] = None
        elif x in b2:
            p = max(p - max(1, part(len(b1), len(b2))), 0)
            replace(True)
            del b2[x]
            t2[x] = None
        else:
            if len(t1) + len(b1) == size:
                if len(t1) < size:
                    b1.popitem(last=False)
                    replace(False)
                else:
                    t1.popitem(last=False)
            elif (total := sum(map(len, (t1, t2, b1, b2)))) >= size:
                if total == 2 * size:
                    b2.popitem(last=False)
                replace(False)
            t1[x] = None
    return hits


MODELS = {"lru": lru, "clock": clock, "2q": two_q, "arc": arc}
# The same as libCacheSim 0.3.5 has them. Two differ from ours, in one thing each.
JUDGED = {
    "lru": lru,
    "clock": clock,
    "2q": partial(two_q, name_first=True),
    "arc": partial(arc, whole=False),
}
