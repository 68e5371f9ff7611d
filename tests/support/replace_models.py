"""Compute the hits of replace policies on a trace, as their papers describe them, by simple code.

Each function takes the blocks that are used, in order, and the size of the cache, and returns how
many uses are hits. It shares nothing with the policy of its name, whose hits must be the same.
`optimal` is what no policy can surpass. A name is a block's number that is remembered although the
block is not cached. In an OrderedDict that stands for a queue, the oldest block is the first.
"""

from collections import Counter, OrderedDict, deque
from collections.abc import Collection, Sequence
from functools import partial
from heapq import heappop, heappush
from operator import floordiv, truediv


def optimal(trace: Sequence[int], size: int) -> int:
    """Return the hits of Belady's policy: the victim is the block whose next use is furthest
    away."""
    last: dict[int, int] = {}  # the last use of each block so far, by its number in the trace
    # A last use has a number behind the trace's end; no two are equal.
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
    """Return the hits of LRU: the victim is the least recently used block."""
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
    """Return the hits of CLOCK: a hand goes round, spares marked blocks once, and evicts the
    others."""
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


def two_q(trace: Sequence[int], size: int) -> int:
    """Return the hits of 2Q: new blocks are in a1in, their names then in a1out, and blocks that are
    used again from there in the LRU queue am."""
    a1in, a1out, am = (OrderedDict() for _ in range(3))
    hits = 0
    for block in trace:
        if block in am:
            am.move_to_end(block)
        hits += block in am or block in a1in
        if block in am or block in a1in:
            continue
        remembered = block in a1out
        if remembered:
            del a1out[block]
        if len(a1in) + len(am) == size:
            if len(a1in) > size // 4:  # a quarter of the cache; names of half as many blocks
                a1out[a1in.popitem(last=False)[0]] = None
                if len(a1out) > size // 2:
                    a1out.popitem(last=False)
            else:
                am.popitem(last=False)
        if remembered:
            am[block] = None
        else:
            a1in[block] = None
    return hits


def arc(trace: Sequence[int], size: int, whole: bool = True) -> int:
    """Return the hits by figure 4 of the paper, in the paper's words: T1 has the blocks that were
    used once of late, T2 the others, B1 and B2 names of blocks that left T1 and T2, and p is the
    size that T1 should have.

    whole: p changes by whole blocks; otherwise by the fractions of the paper.
    """
    part = floordiv if whole else truediv
    t1, t2, b1, b2 = (OrderedDict() for _ in range(4))
    p = hits = 0

    def replace(in_b2: bool) -> None:
        """Evict from T1 or T2, and remember the name in B1 or B2. in_b2: whether the block that
        needs the room is in B2."""
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


def car(trace: Sequence[int], size: int) -> int:
    """Return the hits by figure 2 of the paper, except that p changes by whole blocks. The names
    are those of ARC; T1 and T2 are clocks."""
    t1, t2 = (OrderedDict() for _ in range(2))  # block: its mark; the hand is at the first
    b1, b2 = (OrderedDict() for _ in range(2))
    p = hits = 0

    def replace() -> None:
        """Let the hands move until one finds a block without a mark; evict it, and remember its
        name."""
        while True:
            clock, names = (t1, b1) if len(t1) >= max(1, p) else (t2, b2)
            x, marked = clock.popitem(last=False)
            if not marked:
                names[x] = None
                return
            t2[x] = False

    for x in trace:
        if x in t1 or x in t2:
            hits += 1
            (t1 if x in t1 else t2)[x] = True
            continue
        known = x in b1 or x in b2
        if len(t1) + len(t2) == size:
            replace()
            if not known and len(t1) + len(b1) == size:
                b1.popitem(last=False)
            elif not known and sum(map(len, (t1, t2, b1, b2))) == 2 * size:
                b2.popitem(last=False)
        if not known:
            t1[x] = False
            continue
        if x in b1:
            p = min(p + max(1, len(b2) // len(b1)), size)
            del b1[x]
        else:
            p = max(p - max(1, len(b1) // len(b2)), 0)
            del b2[x]
        t2[x] = False
    return hits


def lirs(trace: Sequence[int], size: int) -> int:
    """Return the hits of LIRS, by section 3 of the paper. The size of the cache is taken to be the
    number of blocks that it has had so far (`most`), and there are at most as many names."""
    stack: OrderedDict[int, str] = OrderedDict()  # the bottom first: "lir", "hir" or "name"
    queue: OrderedDict[int, None] = OrderedDict()  # of the HIR blocks that are cached
    # of evicted blocks in the stack; the one evicted first comes first
    names: OrderedDict[int, None] = OrderedDict()
    hits = n_lir = most = 0

    def prune() -> None:
        """Remove HIR blocks and names from the bottom of the stack, until an LIR block is there."""
        while stack and stack[bottom := next(iter(stack))] != "lir":
            del stack[bottom]
            names.pop(bottom, None)

    def make_lir(block: int) -> None:
        """Make a block LIR. If there are too many then, the one at the stack's bottom is HIR."""
        nonlocal n_lir
        stack[block] = "lir"
        stack.move_to_end(block)
        n_lir += 1
        if n_lir > most - max(1, most // 100):
            bottom, _ = stack.popitem(last=False)
            n_lir -= 1
            queue[bottom] = None

    for block in trace:
        if block in queue and block in stack:
            hits += 1
            del queue[block]
            make_lir(block)
        elif block in queue or stack.get(block) == "lir":
            hits += 1
            stack.setdefault(block, "hir")
            stack.move_to_end(block)
            if block in queue:
                queue.move_to_end(block)
        else:
            if n_lir + len(queue) == size:
                if queue:
                    victim, _ = queue.popitem(last=False)
                    if victim in stack:
                        stack[victim] = "name"
                        names[victim] = None
                else:
                    stack.popitem(last=False)
                    n_lir -= 1
                prune()
            most = max(most, n_lir + len(queue) + 1)
            known = block in names
            names.pop(block, None)
            if known or n_lir < most - max(1, most // 100):
                make_lir(block)
            else:
                stack[block] = "hir"
                queue[block] = None
            while len(names) > most:
                del stack[names.popitem(last=False)[0]]
        prune()
    return hits


def judged_lirs(trace: Sequence[int], size: int) -> int:
    """Return the hits of LIRS as libCacheSim has it. It knows the size from the start, and
    remembers names until the stack is twice as long. A hit of an HIR block that is not in the stack
    turns an LIR block into an HIR block, although the hit block does not become LIR."""
    stack: OrderedDict[int, str] = OrderedDict()  # "lir", "hir", or "name" if it is evicted
    queue: OrderedDict[int, None] = OrderedDict()  # the HIR blocks in the cache
    names: OrderedDict[int, None] = OrderedDict()  # the names in the stack, the oldest first
    most_hirs = max(1, size // 100)
    most_lirs = size - most_hirs
    hits = n_lir = 0

    def evict() -> None:
        """Evict the first block of the queue. If it is in the stack, its name stays there."""
        victim, _ = queue.popitem(last=False)
        if victim in stack:
            stack[victim] = "name"
            names[victim] = None

    def demote() -> None:
        """Make the LIR block at the bottom of the stack HIR; the queue gives blocks for it."""
        nonlocal n_lir
        block, _ = stack.popitem(last=False)
        n_lir -= 1
        while len(queue) >= most_hirs:
            evict()
        queue[block] = None
        prune()

    def prune() -> None:
        """Remove HIR blocks and names from the bottom of the stack, until an LIR block is there."""
        while stack and stack[bottom := next(iter(stack))] != "lir":
            del stack[bottom]
            names.pop(bottom, None)

    for block in trace:
        kind = stack.get(block)
        for order in (stack, queue):
            if block in order:
                order.move_to_end(block)
        hits += block in queue or kind in ("lir", "hir")
        if kind == "lir":
            prune()
        elif kind or block in queue:  # an LIR block gives way, even if this one becomes none
            if kind == "hir":
                queue.pop(block, None)
            while n_lir >= most_lirs:
                demote()
            names.pop(block, None)
            stack[block] = "lir" if kind else "hir"
            n_lir += bool(kind)
            stack.move_to_end(block)
        elif n_lir < most_lirs:  # the cache is still filling
            stack[block] = "lir"
            n_lir += 1
        else:
            while len(queue) >= most_hirs:
                evict()
            stack[block] = "hir"
            queue[block] = None
        while names and len(stack) > 2 * size:
            del stack[names.popitem(last=False)[0]]
    return hits


def sieve(trace: Sequence[int], size: int) -> int:
    """Return the hits of SIEVE: a hand goes from the oldest block to the youngest, spares marked
    blocks, and evicts the first that has no mark. New blocks come in at the young end."""
    queue: list[int] = []  # the oldest first
    marked: dict[int, bool] = {}  # of the blocks in the queue
    hand = hits = 0
    for block in trace:
        if block in marked:
            hits += 1
            marked[block] = True
            continue
        if len(queue) == size:
            while marked[queue[hand]]:
                marked[queue[hand]] = False
                hand = (hand + 1) % size
            del marked[queue.pop(hand)]
            hand %= size - 1 or 1  # behind the youngest of the blocks left, the oldest comes
        queue.append(block)
        marked[block] = False
    return hits


def s3fifo(
    trace: Sequence[int], size: int, as_judge: bool = False, as_caffeine: bool = False
) -> int:
    """Return the hits of algorithm 1 of the paper, for a cache that gives one block for each that
    comes.

    as_judge: three things are different, as libCacheSim has them.

    - While the cache was never full, blocks for which the small queue has no room go to the main
      queue.
    - A block's name is looked up, and forgotten, before room is made for the block.
    - The small queue's turn goes on although a block that moved has filled the main queue.

    as_caffeine: two things are different, as Caffeine's simulator has them.

    - When a block that moved has filled the main queue, that queue gives a block, and the small
      queue's turn goes on, so it gives one, too. One place stays empty for the next block.
    - Nine tenths of the blocks, which are the names, are rounded down.
    """
    small_size = max(1, size // 10)
    main_size = size - small_size
    most_names = size * 9 // 10 if as_caffeine else main_size
    turn_goes_on = as_judge or as_caffeine
    small: deque[int] = deque()
    main: deque[int] = deque()
    ghosts: OrderedDict[int, None] = OrderedDict()
    uses: dict[int, int] = {}  # of the blocks in both queues
    hits = 0
    was_full = False

    def evict_from_main() -> None:
        """Evict the first block of the main queue that is not used; each use gives a block
        another turn."""
        while uses[main[0]]:
            uses[main[0]] -= 1
            main.rotate(-1)
        del uses[main.popleft()]

    def evict() -> None:
        """Evict a block: the first of the small queue that was used at most once, whose name is
        then remembered; those used more often go to the main queue. If the small queue is short or
        becomes empty, evict one of the main queue."""
        moved = False
        while small and (not main or len(small) >= small_size or (turn_goes_on and moved)):
            block = small.popleft()
            if uses[block] <= 1:
                del uses[block]
                ghosts[block] = None
                if len(ghosts) > most_names:
                    ghosts.popitem(last=False)
                return
            main.append(block)
            uses[block] = 0
            moved = True
            if as_caffeine and len(main) > main_size:
                evict_from_main()
        if len(uses) == size:
            evict_from_main()

    for block in trace:
        if block in uses:
            hits += 1
            uses[block] = min(uses[block] + 1, 3)
            continue
        known = as_judge and block in ghosts
        if known:
            del ghosts[block]
        if len(uses) == size:
            was_full = True
            evict()
        if block in ghosts:
            del ghosts[block]
            known = True
        uses[block] = 0
        filling = as_judge and not was_full and len(small) >= small_size
        (main if known or filling else small).append(block)
    return hits


class Counts:
    """How often blocks were used: the sketch of TinyLFU, if it mistakes no block for another."""

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}
        self.sampled = 0

    def of(self, block: int) -> int:
        """Return how often a block was used."""
        return self.counts.get(block, 0)

    def use(self, block: int, sample: int) -> None:
        """Count a use, up to 15. After `sample` uses all counts are halved."""
        self.counts[block] = min(self.of(block) + 1, 15)
        self.sampled += 1
        if self.sampled >= sample:
            self.counts = {name: count // 2 for name, count in self.counts.items()}
            self.sampled //= 2


def wtinylfu(trace: Sequence[int], size: int) -> int:
    """Return the hits of the paper's W-TinyLFU, for a cache as large as the blocks that it had so
    far."""
    window, probation, protected = (OrderedDict() for _ in range(3))
    counts = Counts()
    hits = most = 0

    def shorten(part: OrderedDict, size: int) -> None:
        """Move the blocks of a part that were used longest ago to probation, until it has this
        size."""
        while len(part) > size:
            probation[part.popitem(last=False)[0]] = None

    def make_room() -> None:
        """Evict the window's oldest block or the main part's, the one that was used less; a
        window that is too small gives none."""
        main = probation or protected
        if main and len(window) < max(1, most // 100):
            main.popitem(last=False)
        elif not main or counts.of(next(iter(window))) <= counts.of(next(iter(main))):
            window.popitem(last=False)
        else:
            main.popitem(last=False)
            shorten(window, len(window) - 1)

    for block in trace:
        if block in window:
            hits += 1
            window.move_to_end(block)
        elif block in probation or block in protected:
            hits += 1
            (probation if block in probation else protected).pop(block)
            protected[block] = None
        else:
            if len(window) + len(probation) + len(protected) == size:
                make_room()
            window[block] = None
        most = max(most, len(window) + len(probation) + len(protected))
        counts.use(block, 10 * most)
        window_size = max(1, most // 100)  # 1 % of the cache; of the main part 80 % are protected
        shorten(window, window_size)
        shorten(protected, (most - window_size) * 80 // 100)
    return hits


def caffeine_wtinylfu(trace: Sequence[int], size: int) -> int:
    """Return the hits of W-TinyLFU as Caffeine's simulator has it, if no block is mistaken for
    another (`tiny-lfu.sketch = perfect-table`) and none enters by chance (jitter).

    Ours differs in four things: a count ends at 15; a part of a block is none, for the window too;
    while the cache fills, the parts are shares of the blocks that are there; and a use is counted
    when there is room for its block, not before.
    """
    main_size = size * 99 // 100
    protected_size = main_size * 80 // 100
    window, probation, protected = (OrderedDict() for _ in range(3))
    counts: Counter[int] = Counter()
    hits = sampled = 0
    for block in trace:
        counts[block] += 1
        sampled += 1
        if sampled == 10 * size:  # all counts are halved now and then, so old uses weigh less
            counts = Counter({name: count // 2 for name, count in counts.items()})
            sampled //= 2
        if block in window or block in protected:
            hits += 1
            (window if block in window else protected).move_to_end(block)
            continue
        if block in probation:
            hits += 1
            del probation[block]
            protected[block] = None
            if len(protected) > protected_size:
                probation[protected.popitem(last=False)[0]] = None
            continue
        window[block] = None
        if len(window) <= size - main_size:
            continue
        candidate = window.popitem(last=False)[0]
        probation[candidate] = None
        # The cache is full: of the window's victim and the main part's, the one used less goes.
        if len(window) + len(probation) + len(protected) > size:
            other = next(iter(probation))
            del probation[other if counts[candidate] > counts[other] else candidate]
    return hits


# Decisions of which the paper says little, as Caffeine's simulator takes them:
# - hundredth: at least a hundredth of the blocks, and two, may be cold, and as many hot. Ours: one
#   cold block, and no hot one.
# - refuse: a block in its test becomes hot only if the hot hand makes room without passing it.
#   Otherwise it begins another test. Ours becomes hot, whatever the hand passes.
# - marked: a used block whose test the hot hand ends counts as a use. Ours learns nothing from it.
# - at rest: the hot hand goes on to the next hot block at once, and ends the tests on its way. Ours
#   does so when it moves next.
CAFFEINES = ("hundredth", "refuse", "marked", "at rest")


def clockpro(trace: Sequence[int], size: int, also: Collection[str] = ()) -> int:
    """Return the hits of CLOCK-Pro as its paper has it, for a cache whose blocks are hot as they
    come, but the last one. The clock has blocks and names by the places where they stand.

    also: the decisions (CAFFEINES) that are taken as Caffeine's simulator takes them.
    """
    kind: dict[int, str] = {}  # "hot", "cold", "test" or "name"
    place: dict[int, int] = {}
    hot: OrderedDict[int, None] = OrderedDict()  # the first is at the hand
    looks_at = {"cold": ("cold", "test"), "test": ("test", "name")}  # the kinds, of two hands
    # The entries that each hand may reach, by place; some have left or moved.
    ahead: dict[str, list[tuple[int, int]]] = {"cold": [], "test": []}
    marked: set[int] = set()
    hits = cached = places = names = 0
    least = max(size // 100, 2) if "hundredth" in also else 1  # cold ones
    least_hot = size - min(size * 99 // 100, size - least) if "hundredth" in also else 0
    hot_most = size - least

    def stand(block: int, what: str, last: bool = True) -> None:
        """Give a block or name this kind. last: at the last place of the clock, without a mark;
        else it stays where it is."""
        nonlocal places
        if last:
            places += 1
            place[block] = places
            marked.discard(block)
        kind[block] = what
        hot.pop(block, None)
        if what == "hot":
            hot[block] = None
        for hand, kinds in looks_at.items():
            if what in kinds:
                heappush(ahead[hand], (place[block], block))

    def first(hand: str) -> tuple[int, int]:
        """Return the place and the block that a hand comes to next. (If there is none, a place
        behind all, and -1.)"""
        heap = ahead[hand]
        while heap:
            at, block = heap[0]
            if kind.get(block) in looks_at[hand] and place[block] == at:
                break
            heappop(heap)
        return heap[0] if heap else (places + 1, -1)

    def learn(used: bool) -> None:
        """Let there be one hot block less if a block was used in its test, or one more if it was
        not."""
        nonlocal hot_most
        hot_most = max(hot_most - 1, least_hot) if used else min(hot_most + 1, size - least)

    def end_test(block: int) -> None:
        """End the test of a cold block or a name; a name is forgotten."""
        nonlocal names
        if kind[block] == "name":
            del kind[block]
            names -= 1
        else:
            stand(block, "cold", last=False)
        if block not in marked or "marked" in also:
            learn(block in marked)

    def end_tests(before: int) -> None:
        """End all tests that stand before a place."""
        while first("test")[0] < before:
            end_test(first("test")[1])

    def rest() -> None:
        """The hot hand has moved: let it go on to the next hot block if "at rest" is asked for."""
        if "at rest" in also and hot:
            end_tests(place[next(iter(hot))])

    def cool(before: int) -> bool:
        """Move the hot hand: the next hot block that stands before this place becomes cold. Returns
        False if there is none."""
        while hot and place[next(iter(hot))] < before:
            at_hand = next(iter(hot))
            end_tests(place[at_hand])
            used = at_hand in marked
            stand(at_hand, "hot" if used else "cold")
            if not used:
                rest()
                return True
        end_tests(before)
        rest()
        return False

    def may_heat(block: int) -> bool:
        """Return whether a used block may become hot, after the hot hand has made room (see
        "refuse")."""
        in_test = block in kind and kind[block] != "cold"
        if in_test:
            learn(used=True)
        while in_test and len(hot) >= hot_most:
            in_test = cool(place[block]) and (
                len(hot) < hot_most or (block in kind and kind[block] != "cold")
            )
        return in_test

    def heat(block: int) -> None:
        """Make a block hot that was used in its test; the hot hand moves as far as it must."""
        nonlocal names
        if "refuse" in also:
            warm = may_heat(block)
            names -= kind.get(block) == "name"
            stand(block, "hot" if warm else "test")
            return
        names -= kind[block] == "name"
        stand(block, "hot")
        learn(used=True)
        while len(hot) > hot_most:
            at_hand = next(iter(hot))
            end_tests(place[at_hand])
            if len(hot) > hot_most:
                stand(at_hand, "hot" if at_hand in marked else "cold")
        rest()

    def make_room() -> None:
        """Let the cold hand evict a block. One that it finds used becomes hot if it is in its
        test, else begins one. An evicted block in its test leaves its name."""
        nonlocal names
        while (block := first("cold")[1]) in marked:
            if kind[block] == "test":
                heat(block)
            else:
                stand(block, "test")
        if kind[block] == "test":
            kind[block] = "name"
            names += 1
        else:
            del kind[block]
        while names > size:
            end_test(first("test")[1])

    for block in trace:
        if kind.get(block, "name") != "name":
            hits += 1
            marked.add(block)
            continue
        full = cached == size
        if full:
            make_room()
        else:
            cached += 1
        if not full and cached <= size - least:
            stand(block, "hot")
        elif block in kind:
            heat(block)
        else:
            stand(block, "test")
        rest()
    return hits


def judged_clockpro(trace: Sequence[int], size: int) -> int:
    """Return the hits of CLOCK-Pro as libCacheSim has it: once as many blocks are cold as may be,
    half of the cache, it takes in no block. So none is ever evicted, and none becomes hot."""
    kept: set[int] = set()
    hits = 0
    for block in trace:
        hits += block in kept
        if len(kept) < size // 2:
            kept.add(block)
    return hits


def mglru(trace: Sequence[int], size: int) -> int:
    """Return the hits of MGLRU as the policy's head has it, which says where Linux differs."""
    generations: dict[int, deque[int]] = {1: deque(), 2: deque()}  # the oldest first
    uses: dict[int, int] = {}
    names: OrderedDict[int, tuple[int, int]] = OrderedDict()  # the youngest then, the tier
    # Of each tier: refaults, and victims with protected blocks.
    now, past = ([[0, 0] for _ in range(4)] for _ in range(2))
    hits = most = 0

    def protected_tiers() -> list[int]:
        """Return the tiers whose blocks come back twice as often as those of tier 0: the first
        such one, and all above it."""
        sums = [(a + c, b + d) for (a, b), (c, d) in zip(now, past, strict=True)]
        base, base_of = sums[0]
        for tier in (1, 2, 3):
            again, total = sums[tier]
            # again / total > 2 * (base + 1) / (base_of + 8), without divisions; 1 and 8 keep few
            # blocks of tier 0 from deciding
            if again >= 8 and again * (base_of + 8) > 2 * (base + 1) * total:
                return list(range(tier, 4))
        return []

    def turn() -> None:
        """Remove the oldest generations while they are empty, and halve what is counted of tiers
        each time. Begin a youngest one if the one that takes new blocks has less than a quarter."""
        while len(generations) > 2 and not generations[oldest := min(generations)]:
            del generations[oldest]
            for i in range(4):
                past[i] = [(old + new) // 2 for old, new in zip(past[i], now[i], strict=True)]
                now[i] = [0, 0]
        youngest = max(generations)  # new blocks go to the one before it
        if len(generations) < 4 and len(generations[youngest - 1]) * 4 < len(uses):
            generations[youngest + 1] = deque()

    def make_room() -> None:
        """Evict the first block of the oldest generation; blocks of a spared tier are moved to the
        next generation instead, up to the youngest."""
        spared = protected_tiers()
        while True:
            generation = min(g for g, blocks in generations.items() if blocks)
            block = generations[generation].popleft()
            # A block's tier follows from its uses: 1, 2, up to 4, or more.
            tier = next(t for t, limit in enumerate((1, 2, 4, len(trace))) if uses[block] <= limit)
            now[tier][1] += 1
            if tier not in spared or generation == max(generations):
                break
            uses[block] = 0
            generations[generation + 1].append(block)
        del uses[block]
        names[block] = (max(generations), tier)
        if len(names) > most:
            names.popitem(last=False)
        turn()

    for block in trace:
        if block in uses:
            hits += 1
            uses[block] += 1
            continue
        if len(uses) == size:
            make_room()
        if block in names:
            youngest, tier = names.pop(block)
            now[tier][0] += max(generations) - youngest < 4
        uses[block] = 1
        generations[max(generations) - 1].append(block)
        most = max(most, len(uses))
    return hits


MODELS = {
    "lru": lru,
    "clock": clock,
    "2q": two_q,
    "arc": arc,
    "car": car,
    "lirs": lirs,
    "sieve": sieve,
    "s3fifo": s3fifo,
    "wtinylfu": wtinylfu,
    "clockpro": clockpro,
    "mglru": mglru,
}
# The models of the policies in libCacheSim 0.3.5, which lacks CAR and MGLRU. Four of these models
# differ from the models of our policies.
JUDGED = {
    "lru": lru,
    "clock": clock,
    "2q": two_q,
    "arc": partial(arc, whole=False),
    "lirs": judged_lirs,
    "clockpro": judged_clockpro,
    "sieve": sieve,
    "s3fifo": partial(s3fifo, as_judge=True),
}
