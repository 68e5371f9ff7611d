"""The state after a cut, sorted into kinds of findings: for file systems that promise less than
ours.

A judge of our kernel says whether a promise is broken. Other file systems promise less, each in its
own way, so here each cut has the kinds of what it shows, and a page can say how often each came:

    asks      e2fsck -p, after the journal's replay, would have to ask a person
    unclean   it does not ask, and e2fsck -fn finds something afterwards
    names     the names are of no moment since the last fsync or sync. An fsync makes durable what
              came before the last change of its own file, as a journal does, and no more; an
              fdatasync what came before its file was made
    synced    a file that fsync, fdatasync or sync has confirmed is under none of its names, or is
              damaged
    size      a file has a size that it never had
    zeros     zeros that nobody wrote, in a part of a file that no fsync has confirmed
    stale     bytes of other files in such a part
    replaced  a rename put a file over another one, and the name has the whole contents of neither
"""

from collections.abc import Iterator, Sequence

from sluice.crash.cuts import Cut
from sluice.crash.disk_events import SECTOR
from sluice.crash.oracle import FoundTree, History, steps_between

KINDS = ("asks", "unclean", "names", "synced", "size", "zeros", "stale", "replaced")
SETTLES_ALL = ("sync", "umount")
SETTLES_ONE = ("fsync", "through")
SETTLES_DATA = ("fdatasync", "store")


class Findings:
    """The findings of one workload's cuts. start: the tree that the workload begins with.
    settled[n]: after n operations, the last moment whose names are durable."""

    def __init__(self, history: History, start: FoundTree) -> None:
        self.history = history
        first = history.names[0].at.items()
        self.inodes = {node: start[path].inode for path, (_, node) in first}
        self.settled = list(self._settle_names())

    def _settle_names(self) -> Iterator[int]:
        """Yield, for each number of operations, the last moment whose names are durable."""
        settled = 0
        yield settled
        for i, op in enumerate(self.history.operations):
            if self.history.results[i] and op.name in SETTLES_ALL:
                settled = i + 1
            elif self.history.results[i] and op.name in (*SETTLES_ONE, *SETTLES_DATA):
                _, node = self.history.names[i].at[op.words[0]]
                if op.name in SETTLES_ONE:
                    settled = max(settled, self._last_change(node, i + 1))
                else:
                    settled = max(settled, self.history.made.get(node, 0))
            yield settled

    def _paths(self, node: int, moment: int) -> frozenset[str]:
        """Return a node's paths, and those in it, at a moment."""
        at = self.history.names[moment].at
        own = {path for path, (_, other) in at.items() if other == node}
        return frozenset(path for path in at if path in own or path.rpartition("/")[0] in own)

    def _last_change(self, node: int, until: int) -> int:
        """Return the last moment up to this one at which a node's names or contents changed."""
        versions = self.history.files.get(node)
        written = [done for done, _ in versions.data if done <= until] if versions else []
        moments = range(1, until + 1)
        named = [k for k in moments if self._paths(node, k) != self._paths(node, k - 1)]
        return max(written + named, default=0)

    # ---- one cut ----

    def kinds(self, tree: FoundTree, cut: Cut) -> set[str]:
        """Return the kinds that a tree shows after a cut. Where several moments have the tree's
        names, as before a file is made and after it has replaced another, it is judged by the one
        that has the fewest kinds."""
        last = cut.returned + (1 if cut.under_way else 0)
        moments = range(last, self.settled[cut.returned] - 1, -1)
        shown = [
            self._contents(tree, cut, moment) | self._replaced(tree, moment)
            for moment in moments
            if self.history.shows_names(tree, moment) and self._leads_right(tree, moment)
        ]
        return self._lost(tree, cut, last) | min(shown, key=len, default={"names"})

    def _leads_right(self, tree: FoundTree, moment: int) -> bool:
        """Return whether each name leads to the inode that it had at the start; or, if its node is
        new, to none that another node had when it was made."""
        for path, (_, node) in self.history.names[moment].at.items():
            inode = tree[path].inode
            if inode != self.inodes.get(node, inode):
                return False
            if node not in self.inodes and inode in self._inodes_in_use(node):
                return False
        return True

    def _inodes_in_use(self, node: int) -> set[int]:
        """Return the inodes of the start that were in use when a new node was made."""
        for moment in self.history.names:
            nodes = {other for _, other in moment.at.values()}
            if node in nodes:
                return {self.inodes[other] for other in nodes if other in self.inodes}
        return set()

    def _window(self, node: int, cut: Cut) -> list[bytes]:
        """Return the versions of a file that a cut may show, the durable one first."""
        return self.history.window(node, cut.returned, cut.under_way)

    def _lost(self, tree: FoundTree, cut: Cut, last: int) -> set[str]:
        """Return "synced" if a durable file is under none of the names that it had up to now, or is
        damaged under each of them."""
        moments = self.history.names[: last + 1]
        files = {node for kind, node in moments[last].at.values() if kind == "f"}
        for node in files:
            if not self._is_durable(node, cut, last):
                continue
            paths = {path for now in moments for path, one in now.at.items() if one == ("f", node)}
            window = self._window(node, cut)
            if not any(self._is_kept(tree, path, window) for path in paths):
                return {"synced"}
        return set()

    def _is_kept(self, tree: FoundTree, path: str, window: Sequence[bytes]) -> bool:
        """Return whether a path leads to a file whose durable part is there: the bytes that all
        versions of the window have, in whole sectors."""
        kept = min(map(len, window))
        if path not in tree or tree[path].kind != "f" or len(tree[path].data) < kept:
            return False
        return not any(at + SECTOR <= kept for at, _ in strange_pieces(tree[path].data, window))

    def _is_durable(self, node: int, cut: Cut, last: int) -> bool:
        """Return whether a file was confirmed, and has had a name since then."""
        durable = self.history.files[node].durable
        since = max((done for done, _ in durable if done <= cut.returned), default=0)
        return all(
            ("f", node) in moment.at.values() for moment in self.history.names[since : last + 1]
        )

    def _contents(self, tree: FoundTree, cut: Cut, moment: int) -> set[str]:
        """Return what kinds of bytes and sizes the files show that they never had."""
        found: set[str] = set()
        for path, (kind, node) in self.history.names[moment].at.items():
            if kind == "f":
                window = self._window(node, cut)
                data = tree[path].data
                if len(data) not in set(steps_between([len(version) for version in window])):
                    found.add("size")
                pieces = strange_pieces(data, window)
                found |= {"stale" if any(piece) else "zeros" for _, piece in pieces}
        return found

    def _replaced(self, tree: FoundTree, moment: int) -> set[str]:
        """Return "replaced" if a rename over a file has left neither of the two files whole."""
        now = self.history.names[moment].at
        for k in range(moment):
            op, before = self.history.operations[k], self.history.names[k].at
            if op.name != "rename" or not self.history.results[k]:
                continue
            old, new = op.words[:2]
            if before.get(new, ("", 0))[0] != "f" or before[new] == before[old]:
                continue  # it replaced no other file
            _, node = before[old]
            if now.get(new) == ("f", node):
                versions = self.history.files[node].data
                renamed = max(i for i, (done, _) in enumerate(versions) if done <= k)
                if not is_whole(tree[new].data, [data for _, data in versions[renamed:]]):
                    return {"replaced"}
        return set()


def is_whole(data: bytes, window: Sequence[bytes]) -> bool:
    """Return whether contents are one of these versions, or have the size of one of them, and each
    byte from one of them."""
    return len(data) in map(len, window) and not any(strange_pieces(data, window))


def strange_pieces(data: bytes, window: Sequence[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield the place of each sector of a file with bytes that no version has there, and these
    bytes. Behind its end a version has no bytes, not even zeros."""
    for at in range(0, len(data), SECTOR):
        piece = data[at : at + SECTOR]
        known = [version[at : at + len(piece)] for version in window]
        if piece in known:
            continue
        strange = bytes(
            byte
            for i, byte in enumerate(piece)
            if all(byte not in version[i : i + 1] for version in known)
        )
        if strange:
            yield at, strange
