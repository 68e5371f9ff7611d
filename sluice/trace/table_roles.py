"""Tables whose columns are named: which column has which role, and the unit of the times.

A role is what a column says of a request:

    time            when it came: a number, or a date with its time of day
    op              a word that begins with r or w, as R, Write, WS, READ
    write, read     a number or a word that is 1, true or yes if it is a write, or a read
    offset          the first byte;  sector: of 512 bytes;  block: of 4,096 bytes
    size            its length in bytes;  sectors, blocks
    disk            which disk it is of; if missing, all are of one
    file            which file it is of: then the place is within the file, which gets space on one
                    disk when it is first used (extents.py); of two disks, equal names are two files

--columns has an item for each column that is used: ROLE=NAME, with a name of the head or the
column's number from 1 on; or a name of the head alone, whose role NAMES tells; or, in a table
without a head, the roles of its columns from the left, and - for one that is not used. Without
--columns the head's names tell all.

Without op all requests are reads, without size they have a block of 4,096 bytes, and without time
there are no times. The unit of times is guessed where nobody says it (guess_unit).
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sluice.trace.common import SECTOR
from sluice.trace.extents import Extents
from sluice.trace.format_words import UNITS_PS
from sluice.trace.stream import NUMBER, Line, parse_date, parse_number, parse_whole
from sluice.trace.units import Disks

BLOCK = 4096
NAMES = {  # of columns, in the heads of public traces and of tools, by their roles
    "time": "time timestamp ts start_time arrival arrival_time request_time time_ns time_us "
    "time_ms time_s timestamp_ns timestamp_us timestamp_ms date datetime",
    "op": "op opcode operation type iotype io_type op_type rw rwbs kind action request_type",
    "write": "write is_write",
    "read": "read is_read",
    "offset": "offset byte_offset offset_bytes file_offset addr address start_byte",
    "sector": "sector lba lbn lsn start_sector first_sector sector_number",
    "block": "block block_id lbn_4k page",
    "size": "size bytes length len io_size size_bytes request_size request_io_size_bytes",
    "sectors": "sectors nr_sectors num_sectors sector_count",
    "blocks": "blocks nr_blocks num_blocks block_count",
    "disk": "disk disk_id disknumber device device_id dev volume volume_id volumeid lun asu",
    "file": "file filename file_name path inode",
}
ROLE_OF = {name: role for role, names in NAMES.items() for name in names.split()}
PLACES = {"offset": 1, "sector": SECTOR, "block": BLOCK}  # bytes of their units
SIZES = {"size": 1, "sectors": SECTOR, "blocks": BLOCK}
TRUE, FALSE = ("1", "true", "yes", "w", "write"), ("0", "false", "no", "r", "read")
SKIPPED = "-"
UNIT_IN_NAME = re.compile(r"[_( ](ns|us|ms|s)\)?$")
PLAUSIBLE_GAP_S = 0.1  # a disk that is traced has at least as many requests
DATES = (  # a time of the years 2000 to 2100, by what it is counted in since 1970 (or 1601)
    ("s", 946_684_800, 4_102_444_800),
    ("ms", 946_684_800 * 10**3, 4_102_444_800 * 10**3),
    ("us", 946_684_800 * 10**6, 4_102_444_800 * 10**6),
    ("100ns", 125_911_584 * 10**9, 157_469_184 * 10**9),
    ("ns", 946_684_800 * 10**9, 4_102_444_800 * 10**9),
)
# The unit of Windows' file times, which count from 1601, and the first of 2000.
FILETIME_UNIT, FILETIME_2000, _ = next(row for row in DATES if row[0] == "100ns")
FROM_1601 = 116_444_736 * 10**9  # to 1970, in 100 ns


@dataclass(frozen=True)
class Unit:
    """The unit of times, and why it is taken. ps: 0 if times are dates."""

    ps: int
    name: str
    why: str


@dataclass(frozen=True)
class Roles:
    """The column of each role, from 0 on, and its name for people."""

    places: dict[str, int]
    named: dict[str, str]

    def describe(self) -> str:
        """Return the roles for people: "time = timestamp, op = type, ..."."""
        return ", ".join(f"{role} = {self.named[role]}" for role in self.places)


def find_roles(columns: str, head: Sequence[str] | None, width: int) -> Roles:
    """Return which column has which role.

    columns: the value of --columns, or ""; head: the names of the table's columns, None without a
    head; width: how many columns it has. Raises ValueError.
    """
    names = [name.strip().lower() for name in head or ()]
    found: dict[str, int] = {}
    items = [item.strip() for item in columns.split(",")] if columns else []
    if not items:
        for place, name in enumerate(names):
            found.setdefault(ROLE_OF.get(name, SKIPPED), place)
        found.pop(SKIPPED, None)
    for place, item in enumerate(items):
        role, at = find_role(item, place, names, width)
        if role in found:
            raise ValueError(f"--columns: {role} is given twice")
        if role != SKIPPED:
            found[role] = at
    expect_roles(found)
    return Roles(
        found, {role: (head[at] if head else f"column {at + 1}") for role, at in found.items()}
    )


def find_role(item: str, place: int, names: list[str], width: int) -> tuple[str, int]:
    """Return the role of an item of --columns and its column. place: the item's own; names: of the
    head, in small letters, or nothing. Raises ValueError."""
    role, equals, name = (word.strip().lower() for word in item.partition("="))
    name = name if equals else role
    if not equals:
        role = role if role in (*NAMES, SKIPPED) else ROLE_OF.get(role, "")
    if role not in (*NAMES, SKIPPED):
        raise ValueError(f"--columns: {item}: say what it is, as ROLE={name}: {', '.join(NAMES)}")
    if role == SKIPPED or (not names and not equals):
        at = place
    elif equals and name.isdigit() and name not in names:
        at = int(name) - 1
    else:
        there = [i for i, one in enumerate(names) if one == name]
        there = there or [i for i, one in enumerate(names) if ROLE_OF.get(one) == role == name]
        if not there:
            known = f"; the head has {', '.join(names)}" if names else ", and there is no head"
            raise ValueError(f"--columns: {item}: there is no column {name}{known}")
        at = there[0]
    if not 0 <= at < width:
        raise ValueError(f"--columns: {item}: there are {width} columns")
    return role, at


def expect_roles(found: dict[str, int]) -> None:
    """Raise ValueError unless there is exactly one role for the place, and at most one for the size
    and for the direction."""
    for what, roles, least in (
        ("the place", PLACES, 1),
        ("the size", SIZES, 0),
        ("the direction", ("op", "write", "read"), 0),
    ):
        there = [role for role in roles if role in found]
        if not least <= len(there) <= 1:
            which = " and ".join(there) if there else f"none of {', '.join(roles)}"
            raise ValueError(f"--columns: {what}: {which}: give one")


def guess_unit(given: str, name: str, values: Sequence[str]) -> Unit:
    """Return the unit of a column's times. given: by the user, or ""; name: the column's; values:
    the first of them, in the file's order.

    If most of the values are no numbers, they are dates, which need no unit. Else the column's name
    may say it; a number that is a date since 1970, or since 1601 in 100 ns, has the unit that puts
    it between 2000 and 2100; other numbers with a fraction are seconds; and for whole numbers the
    coarsest unit is taken in which the mean gap between two requests is at most PLAUSIBLE_GAP_S.
    """
    if given:
        return Unit(UNITS_PS[given], given, "as you say")
    numbers = [float(value) for value in values if NUMBER.fullmatch(value.strip())]
    if 2 * len(numbers) < len(values):
        return Unit(0, "dates", "as they are written")
    if in_name := UNIT_IN_NAME.search(name.lower()):
        return Unit(UNITS_PS[in_name[1]], in_name[1], f"by the column's name {name}")
    for unit, low, high in DATES:
        if numbers and low <= min(numbers) and max(numbers) < high:
            return Unit(UNITS_PS[unit], unit, "guessed: then the years are 2000 to 2100")
    if any(number % 1 for number in numbers):
        return Unit(UNITS_PS["s"], "s", "guessed: the times have fractions")
    gap = (max(numbers, default=0) - min(numbers, default=0)) / max(len(numbers) - 1, 1)
    for unit in ("s", "ms", "us", "ns"):
        seconds = gap * UNITS_PS[unit] / UNITS_PS["s"]
        if seconds <= PLAUSIBLE_GAP_S:
            break
    return Unit(UNITS_PS[unit], unit, f"guessed: then requests are {seconds:.2g} s apart")


def parse_time(word: str, unit: Unit) -> int:
    """Return a time in ns. Raises ValueError."""
    if not unit.ps:
        return parse_date(word)
    number = parse_number(word, "the time")
    if unit.name == FILETIME_UNIT and number >= FILETIME_2000:
        number -= FROM_1601  # in ns, a date since 1970 fits 63 bits; one since 1601 does not
    return int(number * unit.ps / 1000)


def parse_flag(word: str, role: str) -> int:
    """Return 1 if a word says yes, 0 if it says no. Raises ValueError."""
    text = word.strip().lower().removesuffix(".0")
    if text not in TRUE + FALSE:
        raise ValueError(f"{role} {word!r}: neither 1, true or yes nor 0, false or no")
    return int(text in TRUE)


def parse_direction(word: str) -> int:
    """Return 1 for a word of a write, 0 for one of a read. Raises ValueError, also for a number,
    which needs another role because programs do not agree which is which."""
    first = word.strip()[:1].lower()
    if first.isdigit():
        why = "give the column as write=NAME if 1 is a write, or as read=NAME"
        raise ValueError(f"the op {word!r}: a number does not say what a write is: {why}")
    if first not in ("r", "w"):
        raise ValueError(f"the op {word!r}: begins neither with r nor with w")
    return int(first == "w")


def make_row_of(roles: Roles, unit: Unit) -> Callable[[Sequence[str]], Line]:
    """Return the function that makes a request of the words of a row. It raises ValueError."""
    places, disks, files = roles.places, Disks(), Extents()
    at_role = next(role for role in PLACES if role in places)
    size_role = next((role for role in SIZES if role in places), "")
    several, within_files = "disk" in places, "file" in places

    def parse_write(words: Sequence[str]) -> int:
        """Return 1 if a row is a write, by the column that says so, and 0 otherwise."""
        if "op" in places:
            return parse_direction(words[places["op"]])
        if "write" in places:
            return parse_flag(words[places["write"]], "write")
        return 1 - parse_flag(words[places["read"]], "read") if "read" in places else 0

    def parse_row(words: Sequence[str]) -> Line:
        """Return the request of a row, or its requests if the row is about a file."""
        at = parse_whole(words[places[at_role]], f"the {at_role}") * PLACES[at_role]
        size = BLOCK
        if size_role:
            size = parse_whole(words[places[size_role]], f"the {size_role}") * SIZES[size_role]
        time_ns = parse_time(words[places["time"]], unit) if "time" in places else 0
        disk = words[places["disk"]].strip() if several else ""
        if within_files:
            file = f"{disk}\n{words[places['file']].strip()}"
            return files.requests(time_ns, file, at, size, parse_write(words))
        at = disks.place(disk, at, size) if several else at
        return time_ns, at, size, parse_write(words)

    return parse_row
