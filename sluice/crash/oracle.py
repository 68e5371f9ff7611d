"""The oracle: which trees of files a power cut may leave.

`History` follows a workload operation by operation. At a cut, some operations have returned and at
most one is under way. What may be found then is a `Promise` of the kernel's, and `History.check`
compares what was found with it.

- All names found are those of one moment. With order="sync", the kernel's own order of writes, that
  moment is now: before or after the operation that is under way. With "prefix", as a journal
  promises, it is any moment since the last fsync or sync.
  An fdatasync of a file settles names as they were when the file was made: the file is found,
  perhaps by a name that it had since then. An fdatasync of a directory is an fsync.
- A file's size is a size that the file has had since it was last made durable (or, within one
  write, a number of whole blocks between two such sizes). Each of its bytes has a value that it
  has had since then. One more size may be found where e2fsck has repaired a disk without a
  journal: see `round_up`.
- With stale=True, bytes that no durable version of the file has may be anything: the block's number
  may reach the disk before the block's data. `check` counts them. A journal that orders data writes
  them before the size that leads to them, so stale=False.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from sluice.crash.operations import Operation, pattern

MOST_BLOCK = 4096
LEAST_BLOCK = 1024  # a write grows a file block by block, and no disk has smaller ones
DIRECT = 12  # blocks of a file to which its inode points


@dataclass(frozen=True)
class Found:
    """The object at a path: a file (f), a directory (d) or a symbolic link (l); its inode's number;
    the file's data, or the link's text."""

    kind: str
    inode: int
    data: bytes = b""


FoundTree = dict[str, Found]


@dataclass(frozen=True)
class Promise:
    """The kernel's promises about a power cut. The head of this file describes order and stale.
    repaired: the bytes of a block, if e2fsck has repaired the disk; 0 if it has not, or if it has
    replayed a journal."""

    order: str = "sync"
    stale: bool = True
    repaired: int = 0


def promise_of(order: str) -> Promise:
    """Return what is promised with names of this order."""
    return Promise(order, stale=order != "prefix")


@dataclass(frozen=True)
class Names:
    """The tree at one moment: for each path the kind and the node, which numbers a file."""

    at: dict[str, tuple[str, int]]

    def paths_under(self, path: str) -> list[str]:
        """Return the paths under a directory."""
        return [other for other in self.at if other.startswith(path + "/")]


@dataclass
class Versions:
    """The contents that a node has had, each with the number of operations done by then. `durable`
    has each moment at which the file was made durable, with the index of its version then;
    `replacing` has the moments at which the file replaced another one."""

    data: list[tuple[int, bytes]]
    durable: list[tuple[int, int]] = field(default_factory=list)  # operations, index of the version
    replacing: list[tuple[int, int]] = field(default_factory=list)


class Refused(Exception):
    """The error for an operation that the kernel must refuse."""


def parent(path: str) -> str:
    """Return the path of the directory that a path's last name is in."""
    return path.rpartition("/")[0]


class History:
    """A model of what a workload does to a disk. `results`: whether each operation succeeds."""

    def __init__(self, operations: Sequence[Operation], start: "History | None" = None) -> None:
        self.operations = tuple(operations)
        self.files: dict[int, Versions] = {}
        self.texts: dict[int, bytes] = {}
        self.nodes = 0
        self.held = 0  # the node of the file that is held
        self.made: dict[int, int] = {}  # by node: the number of operations after which it was there
        self.results: list[bool] = []
        self.names = [Names({})]
        self.windows: dict[tuple[int, int, bool, int], list[bytes]] = {}  # by arguments
        self.settled = [0]  # by the number of operations: the last moment whose names are durable
        if start:
            self._continue(start)
        for i, op in enumerate(self.operations):
            self._apply(i, op)

    def _continue(self, start: "History") -> None:
        """Begin with what another history ends with, all of it durable."""
        self.nodes, self.texts = start.nodes, dict(start.texts)
        self.names = [start.names[-1]]
        for node, versions in start.files.items():
            _, contents = versions.data[-1]
            self.files[node] = Versions([(0, contents)], [(0, 0)])

    # ---- operations ----

    def _apply(self, i: int, op: Operation) -> None:
        """Do the i-th operation."""
        self.now = i + 1
        self.after = dict(self.names[-1].at)
        settled = self.settled[-1]
        try:
            getattr(self, f"_do_{op.name}")(op)
            self.results.append(True)
            if op.name in ("fsync", "sync", "umount"):
                settled = i + 1
            elif op.name in ("fdatasync", "store"):
                kind, node = self.after[op.words[0]]
                settled = i + 1 if kind == "d" else max(settled, self.made.get(node, 0))
        except Refused:
            self.results.append(False)
        self.names.append(Names(self.after))
        self.settled.append(settled)

    def _file(self, path: str) -> int:
        """Return the node of a file. Refuses a path that leads to nothing or to something else, a
        symbolic link, too."""
        kind, node = self.after.get(path, ("", 0))
        if kind != "f":
            raise Refused
        return node

    def _expect_free(self, path: str) -> None:
        """Refuse a name that is there, or whose directory is not."""
        if path in self.after or not self._is_directory(parent(path)):
            raise Refused

    def _is_directory(self, path: str) -> bool:
        """Return whether a path leads to a directory; "" is the root."""
        return not path or self.after.get(path, ("", 0))[0] == "d"

    def _add(self, path: str, kind: str) -> int:
        """Give a name to a new node. Returns its number."""
        self._expect_free(path)
        self.nodes += 1
        self.after[path] = (kind, self.nodes)
        self.made[self.nodes] = self.now
        return self.nodes

    def _change(self, node: int, data: bytes) -> None:
        """Give a file new contents."""
        self.files[node].data.append((self.now, data))

    def _settle(self, node: int) -> None:
        """Make a file's contents durable."""
        versions = self.files[node]
        versions.durable.append((self.now, len(versions.data) - 1))

    def _data(self, node: int) -> bytes:
        """Return a file's contents."""
        _, contents = self.files[node].data[-1]
        return contents

    def _do_creat(self, op: Operation) -> None:
        """Add an empty file."""
        node = self._add(op.words[0], "f")
        self.files[node] = Versions([(self.now, b"")], [(0, 0)])

    def _put(self, path: str, at: int | None, size: int, tag: int) -> int:
        """Write to a file, at its end if `at` is None. Returns its node."""
        node = self._file(path)
        data = self._data(node)
        at = len(data) if at is None else at
        data = data.ljust(at, b"\0")
        self._change(node, data[:at] + pattern(at, size, tag) + data[at + size :])
        return node

    def _do_write(self, op: Operation) -> None:
        """Put data at a place of a file."""
        self._put(op.words[0], op.number(1), op.number(2), op.number(3))

    def _do_through(self, op: Operation) -> None:
        """Put data and make it durable, as O_SYNC does."""
        self._settle(self._put(op.words[0], op.number(1), op.number(2), op.number(3)))

    def _do_hold(self, op: Operation) -> None:
        """Keep a file open, so that it outlives its names."""
        self.held = self._file(op.words[0])

    def _do_grow(self, op: Operation) -> None:
        """Append data to the file that is held."""
        data = self._data(self.held)
        self._change(self.held, data + pattern(len(data), op.number(0), op.number(1)))

    def _do_drop(self, op: Operation) -> None:
        """Close the file that is held: no name and no data changes."""

    def _do_append(self, op: Operation) -> None:
        """Append data to a file."""
        self._put(op.words[0], None, op.number(1), op.number(2))

    def _do_truncate(self, op: Operation) -> None:
        """Cut a file to a size, or lengthen it with zeros."""
        node, size = self._file(op.words[0]), op.number(1)
        self._change(node, self._data(node)[:size].ljust(size, b"\0"))

    def _do_link(self, op: Operation) -> None:
        """Give a file another name."""
        old, new = op.words
        if self.after.get(old, ("d", 0))[0] == "d":
            raise Refused
        self._expect_free(new)
        self.after[new] = self.after[old]

    def _do_symlink(self, op: Operation) -> None:
        """Add a symbolic link."""
        text, path = op.words
        self.texts[self._add(path, "l")] = text.encode()

    def _do_unlink(self, op: Operation) -> None:
        """Remove a name that is no directory's."""
        if self.after.get(op.words[0], ("d", 0))[0] == "d":
            raise Refused
        del self.after[op.words[0]]

    def _do_mkdir(self, op: Operation) -> None:
        """Add a directory."""
        self._add(op.words[0], "d")

    def _do_rmdir(self, op: Operation) -> None:
        """Remove an empty directory."""
        path = op.words[0]
        if self.after.get(path, ("", 0))[0] != "d" or Names(self.after).paths_under(path):
            raise Refused
        del self.after[path]

    def _do_rename(self, op: Operation) -> None:
        """Give a file or a directory another name, which may replace a file or an empty
        directory."""
        old, new = op.words
        if old not in self.after or not self._is_directory(parent(new)):
            raise Refused
        kind, node = self.after[old]
        if kind == "d" and new.startswith(old + "/"):
            raise Refused
        if self.after.get(new) == self.after[old]:
            return  # two names of one file: nothing happens
        if new in self.after:
            self._expect_replaceable(kind, new)
            if kind == "f":
                versions = self.files[node]
                versions.replacing.append((self.now, len(versions.data) - 1))
        moved = {path: path.replace(old, new, 1) for path in Names(self.after).paths_under(old)}
        for path, to in {old: new, **moved}.items():
            self.after[to] = self.after.pop(path)

    def _expect_replaceable(self, kind: str, new: str) -> None:
        """Refuse to put a file over a directory, or a directory over anything but an empty one."""
        is_directory = self.after[new][0] == "d"
        if (kind == "d") != is_directory or (is_directory and Names(self.after).paths_under(new)):
            raise Refused

    def _do_fsync(self, op: Operation) -> None:
        """Make a file durable; a directory has no contents of its own here."""
        if op.words[0] in self.after and self.after[op.words[0]][0] == "d":
            return
        self._settle(self._file(op.words[0]))

    _do_fdatasync = _do_fsync

    def _do_store(self, op: Operation) -> None:
        """Write and fdatasync: make the written data durable."""
        self._do_through(op)

    def _do_sync(self, op: Operation) -> None:
        """Make all files durable."""
        for node in self.files:
            self._settle(node)

    _do_umount = _do_sync

    def _do_mount(self, op: Operation) -> None:
        """Change nothing."""

    _do_sleep = _do_fault = _do_order = _do_mount

    def _do_read(self, op: Operation) -> None:
        """Change nothing. Raises Refused if the operation's name is not a file's."""
        self._file(op.words[0])

    # ---- what a cut may leave ----

    def moments(
        self, returned: int, under_way: bool, promise: Promise, settled: int = 0
    ) -> Sequence[int]:
        """Return the moments whose names a cut may leave, by the number of operations done.
        settled: an fsync of another process has made the names of this moment durable."""
        last = returned + (1 if under_way else 0)
        own = returned if promise.order == "sync" else self.settled[returned]
        return range(max(own, settled), last + 1)

    def check(
        self,
        found: FoundTree,
        returned: int,
        under_way: bool,
        promise: Promise,
        settled: int = 0,
    ) -> tuple[list[str], int]:
        """Compare a tree with what the cut may leave. Returns what is wrong, and the number of
        stale bytes in the tree that the promise allows.

        Several moments may have the same names for different files: before and after a rename over
        a file, for example. The tree is accepted if its files fit at least one of these moments.
        """
        moments = self.moments(returned, under_way, promise, settled)
        shown = [moment for moment in reversed(moments) if self.shows_names(found, moment)]
        if not shown:
            return [self._describe_names(found, moments)], 0
        # Of moments with the same names for the same files, only the last one is compared.
        different = {frozenset(self.names[moment].at.items()): moment for moment in reversed(shown)}
        compared = (
            self._check_files(found, moment, returned, under_way, promise)
            for moment in reversed(different.values())
        )
        return min(compared, key=lambda said: (len(said[0]), said[1]))  # the least wrong

    def _check_files(
        self, found: FoundTree, moment: int, returned: int, under_way: bool, promise: Promise
    ) -> tuple[list[str], int]:
        """Compare the found files with the versions that the cut may leave, given the names of one
        moment. Return the errors and the number of allowed stale bytes."""
        wrong, stale = [], 0
        for path, (kind, node) in self.names[moment].at.items():
            if kind == "f":
                replaced = moment if promise.order == "sync" else 0
                versions = self.window(node, returned, under_way, replaced)
                text, n = check_contents(found[path].data, versions, promise)
                wrong += [f"{path}: {text}"] if text else []
                stale += n
        return wrong, stale

    def shows_names(self, found: FoundTree, moment: int) -> bool:
        """Return whether a tree's names, kinds and links are those of a moment."""
        names = self.names[moment].at
        if found.keys() != names.keys():
            return False
        inode_of: dict[int, int] = {}  # by node: all its names must lead to one inode
        for path, (kind, node) in names.items():
            there = found[path]
            if there.kind != kind or inode_of.setdefault(node, there.inode) != there.inode:
                return False
            if kind == "l" and there.data != self.texts[node]:
                return False
        return len(set(inode_of.values())) == len(inode_of)  # no two nodes share an inode

    def _describe_names(self, found: FoundTree, moments: Sequence[int]) -> str:
        """Say how a tree's names differ from those of the moments that it may show."""
        parts = []
        for moment in moments:
            names = self.names[moment].at
            lost, new = sorted(names.keys() - found.keys()), sorted(found.keys() - names.keys())
            said = [f"no {path}" for path in lost] + [f"there is {path}" for path in new]
            when = f"after {self.operations[moment - 1]}" if moment else "at the start"
            parts.append(f"{', '.join(said) or 'links or kinds differ'} (as it was {when})")
        return "the names are of no moment: " + "; or ".join(parts)

    def window(self, node: int, returned: int, under_way: bool, replaced: int = 0) -> list[bytes]:
        """Return the versions of a file that a cut may show, the durable one first. replaced:
        a moment; if the file replaced another file up to then, its contents then are durable, too.
        """
        key = node, returned, under_way, replaced
        if key not in self.windows:
            self.windows[key] = self._find_window(*key)
        return self.windows[key]

    def _find_window(self, node: int, returned: int, under_way: bool, replaced: int) -> list[bytes]:
        """Return what window() returns, computed from the operations."""
        versions = self.files[node]
        # The indices of versions that were made durable by now; the newest of these counts.
        settled = [index for done, index in versions.durable if done <= returned]
        settled += [index for done, index in versions.replacing if done <= replaced]
        durable = max(settled, default=0)
        last = returned + (1 if under_way else 0)
        return [data for done, data in versions.data[durable:] if done <= last] or [b""]


def steps_between(sizes: Sequence[int]) -> Iterator[int]:
    """Yield the sizes in bytes, and each whole number of blocks between two that follow each
    other."""
    yield from sizes
    for one, next_ in pairwise(sizes):
        low, high = min(one, next_), max(one, next_)
        yield from range(-(-low // LEAST_BLOCK) * LEAST_BLOCK, high, LEAST_BLOCK)


def round_up(sizes: Sequence[int], block_bytes: int) -> Iterator[int]:
    """Yield the sizes that e2fsck may give to a file that grew through these sizes: the end of its
    last block.

    The pointer to this block may be in a block of pointers. That block may reach the disk before
    the inode's new size does. (A pointer in the inode is in one sector with the size.) If the last
    block lies wholly behind the inode's size, pass 1 of e2fsck takes the block's end for the size
    (check_blocks in e2fsck/pass1.c of version 1.47; -p does so without a question).
    """
    for before, size in pairwise(sizes):
        last = (size - 1) // block_bytes
        if size > before and last >= DIRECT and last * block_bytes > min(sizes):
            yield (last + 1) * block_bytes


def check_contents(data: bytes, window: Sequence[bytes], promise: Promise) -> tuple[str, int]:
    """Compare a file's contents with the versions that it may show. Returns what is wrong, or "",
    and the number of stale bytes that the promise allows."""
    if data in window:
        return "", 0
    sizes = [len(version) for version in window]
    rounded = round_up(sizes, promise.repaired) if promise.repaired else ()
    if len(data) not in {*steps_between(sizes), *rounded}:
        either = " or ".join(map(str, sorted(set(sizes))))
        return f"its size is {len(data)}, not {either}", 0
    kept, stale = min(sizes), 0
    for at in range(0, len(data), 512):
        piece = data[at : at + 512]
        if is_of_versions(piece, at, window, promise):
            continue
        confirmed = piece[: max(0, kept - at)]
        if promise.stale and confirmed != piece and is_of_versions(confirmed, at, window, promise):
            stale += len(piece)
            continue
        return f"its bytes from {at} on were never there: {piece[:16]!r}", 0
    return "", stale


def is_of_versions(piece: bytes, at: int, window: Sequence[bytes], promise: Promise) -> bool:
    """Return whether each byte of a piece is one that a version of the file has there.

    After its end, a version has zeros up to the end of its last block, because a truncate writes
    these before the size. If stale bytes are allowed, it has zeros everywhere after its end,
    because then the size may grow before the data.
    """
    end = at + len(piece)
    may = []
    for version in window:
        block_end = -(-len(version) // MOST_BLOCK) * MOST_BLOCK  # rounded up
        with_zeros = version.ljust(end if promise.stale else block_end, b"\0")
        may.append(with_zeros[at:end])
    if piece in may:
        return True
    return all(any(one[i : i + 1] == byte for one in may) for i, byte in iterate_bytes(piece))


def iterate_bytes(piece: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the places of a piece's bytes, and the bytes."""
    for i in range(len(piece)):
        yield i, piece[i : i + 1]
