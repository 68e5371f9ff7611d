"""gdb commands that print the kernel's state: cache dirty queue procs kstack.

- They only read memory; `help NAME` prints their arguments.
- Kernel memory can be read through a hart that is in the kernel (an idle one is). When all harts
  are in user mode, the commands say so.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import groupby

import gdb

NS_PER_MS = 1_000_000
ALIKE = 4  # this many requests in a row that differ in their sector alone share a line


@contextmanager
def kernel_memory() -> Iterator[None]:
    """Enter a context in which memory is read through a hart that sees the kernel's half."""
    before = gdb.selected_thread()
    if before is None:
        raise gdb.GdbError("no machine: run make qemu-gdb, then make gdb")
    for thread in gdb.selected_inferior().threads():
        thread.switch()
        try:
            gdb.selected_inferior().read_memory(int(gdb.parse_and_eval("&procs")), 8)
        except gdb.MemoryError:
            continue
        try:
            yield
        finally:
            before.switch()
        return
    before.switch()
    raise gdb.GdbError(
        "no hart sees the kernel now (before paging, or all in user mode): "
        "try `break syscall` and `continue`"
    )


def variable(file: str, name: str) -> gdb.Value:
    """Return a variable of a file.

    Other files may have their own of that name, which is found first when the machine has stopped
    in one of them.
    """
    return gdb.parse_and_eval(f"'{file}'::{name}")


def text(value: gdb.Value) -> str:
    """Return a C string in an array or behind a pointer."""
    return value.string(errors="replace")


def list_items(head: gdb.Value, type_name: str, member: str) -> Iterator[gdb.Value]:
    """Yield the structures on an intrusive list, from its front."""
    kind = gdb.lookup_type(f"struct {type_name}").pointer()
    offset = int(gdb.parse_and_eval(f"&((struct {type_name} *)0)->{member}"))
    end = int(head.address)
    node = int(head["next"])
    while node not in (0, end):
        item = gdb.Value(node - offset).cast(kind).dereference()
        yield item
        node = int(gdb.Value(node).cast(gdb.lookup_type("struct list").pointer())["next"])


def cache(_: str) -> None:
    """cache: the buffer cache in figures."""
    bcache = variable("kernel/cache/bio.c", "bcache")
    print(f"{int(bcache['nbufs'])} buffers of {int(bcache['block_bytes'])} bytes")
    for name, words in [
        ("used", "have ever held a block"),
        ("nevictable", "clean, may be a victim"),
        ("nbusy", "held or in transfer"),
        ("ndirty", "dirty: delayed or pending"),
        ("nwriting", "in transfer to a disk"),
        ("holders", "processes that hold buffers"),
        ("waiting", "processes that wait for a clean one"),
    ]:
        print(f"  {int(bcache[name]):8} {words}")
    for name in ["delayed", "pending", "writing"]:
        print(f"  {sum(1 for _ in list_items(bcache[name], 'buf', 'dirty')):8} on list {name}")


def dirty(words: str) -> None:
    """dirty [N]: the delayed-write list, the oldest N (20) first."""
    most = int(words or 20)
    bcache = variable("kernel/cache/bio.c", "bcache")
    for name in ["pending", "delayed"]:
        items = list(list_items(bcache[name], "buf", "dirty"))
        print(f"{name}: {len(items)} blocks")
        for buf in items[:most]:
            block = buf["block"]
            print(
                f"  {text(buf['disk']['name'])} block {int(block['blkno'])} "
                f"owner {int(block['owner'])}, dirtied "
                f"{int(block['dirtied_ns']) // NS_PER_MS} ms after power-on"
            )


def request_line(request: gdb.Value) -> str:
    """Return a line about a request of a queue."""
    return (
        f"{'write' if request['write'] else 'read'} {int(request['nsectors'])} sectors at "
        f"{int(request['sector'])} for pid {int(request['pid'])}"
        f"{', waited for' if request['waited'] else ''}"
    )


def request_lines(requests: gdb.Value) -> Iterator[str]:
    """Yield lines about the requests of one direction.

    Many requests in a row that are alike share one line.
    """

    def alike(request: gdb.Value) -> tuple[int, ...]:
        return tuple(int(request[name]) for name in ("nsectors", "pid", "waited"))

    for _, found in groupby(list_items(requests, "request", "by_age"), alike):
        group = list(found)
        if len(group) < ALIKE:
            yield from map(request_line, group)
        else:
            last = int(group[-1]["sector"])
            yield f"{len(group)} in a row: {request_line(group[0])}, and so on to {last}"


def queue(words: str) -> None:
    """queue [N] [all]: the request queue of disk N, or of all, in the order of arrival.

    Requests that are alike share a line, unless `all` is said.
    """
    asked = words.split()
    every = "all" in asked
    numbers = [int(word) for word in asked if word != "all"]
    disks = variable("kernel/disk/disk.c", "disks")
    for i in range(int(disks["n"])):
        disk = disks["disk"][i]
        if numbers and i not in numbers:
            continue
        requests, flying = disk["queue"], int(disk["in_flight"])
        print(
            f"{text(disk['name'])}: sched {text(disk['sched']['name'])}, {flying} "
            f"command{'' if flying == 1 else 's'} in flight of at most {int(disk['depth'])}, "
            f"head at sector {int(requests['head_sector'])}"
        )
        for direction in range(2):
            arrived = requests["arrived"][direction]
            lines = (
                map(request_line, list_items(arrived, "request", "by_age"))
                if every
                else request_lines(arrived)
            )
            for line in lines:
                print(f"  {line}")


def live() -> Iterator[gdb.Value]:
    """Yield the processes in the process table, without its free slots."""
    procs = variable("kernel/proc/proc.c", "procs")
    unused = int(gdb.parse_and_eval("(int)UNUSED"))
    first, last = procs.type.range()
    for i in range(first, last + 1):
        if int(procs[i]["state"]) != unused:
            yield procs[i]


def symbol(address: int) -> str:
    """Return the address as a name, for a channel or a function."""
    return gdb.execute(f"info symbol {address:#x}", to_string=True).split(" in section")[0].strip()


def procs(_: str) -> None:
    """procs: the process table."""
    print("  pid  ppid state     name            asleep on")
    for proc in live():
        parent = int(proc["parent"]["pid"]) if int(proc["parent"]) else 0
        chan = int(proc["chan"])
        on = f"{chan:#x} {symbol(chan)}" if str(proc["state"]) == "SLEEPING" else ""
        print(
            f"{int(proc['pid']):5} {parent:5} {proc['state']!s:9} {text(proc['name']):15} "
            f"{on.replace('No symbol matches', '').rstrip('.')}"
        )


def calls(proc: gdb.Value) -> Iterator[int]:
    """Yield the return addresses on a kernel stack, the innermost first.

    A frame holds its return address below the frame pointer, and below that the caller's frame
    pointer; s0 is the frame pointer.
    """
    word = gdb.lookup_type("unsigned long").pointer()
    yield int(proc["context"]["ra"])
    frame = int(proc["context"]["s"][0])
    top = int(proc["trapframe"])
    while top - 0x4000 < frame <= top:
        yield int(gdb.Value(frame - 8).cast(word).dereference())
        frame = int(gdb.Value(frame - 16).cast(word).dereference())


def kstack(words: str) -> None:
    """kstack PID: what the process is doing in the kernel."""
    for proc in live():
        if not words or int(proc["pid"]) != int(words):
            continue
        if str(proc["state"]) == "RUNNING":
            raise gdb.GdbError("it is running: see info threads, then thread N and backtrace")
        for i, address in enumerate(a for a in calls(proc) if a):
            line = gdb.find_pc_line(address - 1)
            where = f"{line.symtab.filename}:{line.line}" if line.symtab else ""
            print(f"#{i:<2} {address:#x} {symbol(address - 1).split(' + ')[0]} {where}")
        return
    raise gdb.GdbError("kstack PID: of a process that procs lists")


def command(function: Callable[[str], None]) -> None:
    """Make a gdb command of a function. Its docstring is the help text."""

    class Command(gdb.Command):
        __doc__ = function.__doc__

        def __init__(self) -> None:
            super().__init__(function.__name__, gdb.COMMAND_USER)

        def invoke(self, words: str, from_tty: bool) -> None:
            with kernel_memory():
                function(words.strip())

    Command()


for each in [cache, dirty, queue, procs, kstack]:
    command(each)
