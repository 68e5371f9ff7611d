"""Tables with named columns: CSV and Parquet, and what is guessed of roles and units.

A column has a role: time, op (or write, read), offset, sector or block, size, disk, file. --columns
gives roles by names or numbers. HEADED is a table with a head, BARE one without; both have the two
requests EXPECTED, as (time in ns, offset, bytes, 1 for a write).
"""

import re
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

import sluice
from sluice.trace import reader
from sluice.trace.errors import BadTraceFile
from sluice.trace.format_words import format_word
from sluice.trace.table_roles import find_roles, guess_unit

pytestmark = pytest.mark.native

EXPECTED = [(0, 7014609920, 24576, 0), (1_500_000, 512, 4096, 1)]
HEADED = "ts,rw,comment,byte_offset,len\n5.25,R,x,7014609920,24576\n5.2515,W,y,512,4096\n"
BARE = "5.25 R 13700410 24576\n5.2515 W 1 4096\n"


def read(path: Path, text: str | None = None, **given: str) -> list[tuple[int, int, int, int]]:
    """Return the requests of a table, with options as --columns=... has them."""
    if text is not None:
        path.write_text(text)
    return reader.read_requests(path, format_word(given.pop("name", ""), **given)).tolist()


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        (HEADED, ""),
        (HEADED, "ts,rw,byte_offset,len"),
        (HEADED, "time=ts,op=rw,offset=byte_offset,size=len"),
        (HEADED, "time=1,op=2,offset=4,size=5"),
        ("# by hand\n\n" + HEADED, ""),
        (HEADED.replace(",", ";"), ""),
        (HEADED.replace(",", "\t"), ""),
        (HEADED.replace(",", " "), ""),
        (HEADED.replace("x,", '"x, ""z""",'), ""),
        (
            HEADED.replace("byte_offset,len", "Byte Offset,IO Size (bytes)").replace(",", "\t"),
            "time=ts,op=rw,offset=Byte Offset,size=IO Size (bytes)",
        ),
        (
            "R, 7014609920, 24576, 2024-01-15 10:30:45\nW, 512, 4096, 2024-01-15 10:30:45.001500\n",
            "op,offset,size,time",
        ),
        (
            HEADED.replace("ts,rw,comment,byte_offset,len", "a,b,c,d,e"),
            "time=a,op=b,offset=d,size=e",
        ),
        (HEADED.partition("\n")[2], "time,op,-,offset,size"),
        (HEADED.partition("\n")[2], "time=1,op=2,offset=4,size=5"),
        (BARE, "time,op,sector,size"),
        (
            "start,op,lba,nr_sectors\n5.25,read,13700410,48\n5.2515,WS,1,8\n",
            "time=start,op,lba,nr_sectors",
        ),
        ("time,write,block,blocks\n5.25,0,1712551,6\n5.2515,1,0,1\n", ""),
        ("time,read,block,blocks\n5.25,true,1712551,6\n5.2515,False,0,1\n", ""),
    ],
)
def test_columns_are_found_by_their_names_or_numbers(
    tmp_path: Path, text: str, columns: str
) -> None:
    """columns: what --columns says; "" guesses the roles from the head."""
    found = read(tmp_path / "w", text, columns=columns)
    wanted = (
        EXPECTED if "block" not in text else [(0, 7014608896, 24576, 0), (1_500_000, 0, 4096, 1)]
    )
    assert found == wanted


def test_what_is_missing_is_a_read_of_one_block_without_a_time(tmp_path: Path) -> None:
    """Only the column block is given."""
    path = tmp_path / "w"
    assert read(path, "7,9\n8,9\n", columns="block") == [(0, 28672, 4096, 0), (0, 32768, 4096, 0)]
    assert reader.find_format(path, "csv:columns=block").TIMELESS
    assert not reader.find_format(path, "csv:columns=block,time").TIMELESS


OF_FILES = {  # uses of two files; each MiB of a file has its own place on the disk
    "time": [0.5, 0.5, 1.5, 2.5],
    "path": ["/a", "/b", "/a", "/a"],
    "file_offset": [512, 512, 0, (1 << 20) - 512],
    "size": [512, 512, 0, 1024],
}


def test_places_within_files_are_not_places_on_one_disk(tmp_path: Path) -> None:
    """Files lie in parts of 1 MiB, in the order of their first uses: the first part of /a, then /b,
    then the second part of /a. So a request that passes the end of /a's first part becomes two."""
    part = 1 << 20
    wanted = [  # (time in ns, offset, bytes, write)
        *[(0, 512, 512, 0), (0, part + 512, 512, 0)],
        *[(2 * 10**9, part - 512, 512, 0), (2 * 10**9, 2 * part, 512, 0)],
    ]
    lines = [",".join(map(str, row)) for row in zip(*OF_FILES.values(), strict=True)]
    text = "\n".join([",".join(OF_FILES), *lines])
    assert read(tmp_path / "w.csv", text) == wanted
    assert read(tmp_path / "w.csv", text, columns="time,file=path,offset=file_offset,size") == (
        wanted
    )
    parquet.write_table(pyarrow.table(OF_FILES), tmp_path / "w.parquet")
    assert read(tmp_path / "w.parquet") == wanted


def test_equal_names_of_files_on_two_disks_are_two_files(tmp_path: Path) -> None:
    text = "time,device,inode,offset,size\n0.1,8:1,7,512,512\n0.2,8:2,7,512,512\n"
    assert read(tmp_path / "w", text) == [(0, 512, 512, 0), (10**8, (1 << 20) + 512, 512, 0)]


def test_the_columns_of_spc_in_another_table_have_their_units(tmp_path: Path) -> None:
    """LBA is in sectors of 512 bytes; disk 0 comes second, so it begins at 1 MiB."""
    text = "ASU;LBA;Size;Opcode;Timestamp\n1;1;512;W;0.1\n0;1;512;R;0.2\n"
    assert read(tmp_path / "w", text) == [(0, 512, 512, 1), (10**8, (1 << 20) + 512, 512, 0)]


def test_disks_of_a_table_lie_one_after_another(tmp_path: Path) -> None:
    text = "time,dev,offset,size\n0.1,sdb,512,512\n0.2,sda,512,512\n"
    assert read(tmp_path / "w", text) == [(0, 512, 512, 0), (10**8, (1 << 20) + 512, 512, 0)]


@pytest.mark.parametrize(
    ("text", "columns", "why"),
    [
        (
            HEADED,
            "time,offset=where",
            "--columns: offset=where: there is no column where; the head has ts",
        ),
        (HEADED, "ts,comment", "--columns: comment: say what it is, as ROLE=comment: time, op"),
        (HEADED, "where=3", "--columns: where=3: say what it is, as ROLE=3"),
        (HEADED, "ts,rw", "--columns: the place: none of offset, sector, block: give one"),
        (HEADED, "offset=4,sector=4", "--columns: the place: offset and sector: give one"),
        (HEADED, "offset=4,offset=5", "--columns: offset is given twice"),
        (HEADED, "offset=6", "--columns: offset=6: there are 5 columns"),
        (HEADED, "offset=0", "--columns: offset=0: there are 5 columns"),
        (BARE, "offset=where", "there is no column where, and there is no head"),
        (
            HEADED.replace("W", "1"),
            "",
            r":3: the op '1': a number does not say .* write=NAME if 1 is",
        ),
        (HEADED.replace("W", "Trim"), "", ":3: the op 'Trim': begins neither with r nor with w"),
        (HEADED.replace(",512,", ",5.5,"), "", ":3: the offset '5.5': must be a whole number"),
        (HEADED.replace("5.2515", "soon"), "", ":3: the time 'soon': must be a number: "),
        (HEADED + "1,2\n", "", ":4: 2 fields, not 5 or more"),
    ],
)
def test_a_wrong_table_is_refused_with_words(
    tmp_path: Path, text: str, columns: str, why: str
) -> None:
    """why: the message, after the file's name."""
    with pytest.raises(
        BadTraceFile, match=f"^{tmp_path / 'w'}.*({re.escape(why) if '--' in why else why})"
    ):
        read(tmp_path / "w", text, columns=columns, name="csv")


def test_a_table_is_taken_for_one_only_if_it_looks_like_nothing_else(tmp_path: Path) -> None:
    """The second text is a table of Tencent's format. A table without a column of places is no
    trace."""
    path = tmp_path / "w"
    for text, name in (
        (HEADED, "csv"),
        ("Timestamp,Offset,Size,IOType,VolumeID\n1538323200,1,8,0,1063\n", "tencent"),
        ("time,op,offset,size,more\n1,R,0,512,9\n", "csv"),
    ):
        path.write_text(text)
        assert reader.find_format(path, "").__name__.endswith(f".{name}")
    for text in ("a,b,c\n1,2,3\n", "rw,offset\nR,1\n"):
        path.write_text(text)
        why = "no known format.*name the columns: --columns time,op"
        with pytest.raises(BadTraceFile, match=why):
            reader.find_format(path, "")


# ---- units of times ----


@pytest.mark.parametrize(
    ("name", "values", "unit", "why"),
    [
        ("time_us", "1 2 3", "us", "by the column's name time_us"),
        ("Time (ms)", "1 2 3", "ms", "by the column's name"),
        ("ts", "1577808144 1577808150", "s", "years are 2000 to 2100"),
        ("ts", "1577808144360 1577808150000", "ms", "years are 2000 to 2100"),
        ("ts", "1577808144360767 1577808150000000", "us", "years are 2000 to 2100"),
        ("ts", "1577808144360767111 1577808150000000000", "ns", "years are 2000 to 2100"),
        ("ts", "128166372003061629 128166372003076629", "100ns", "years are 2000 to 2100"),
        ("ts", "0.000125 0.25", "s", "have fractions"),
        ("ts", "0 0 0", "s", "0 s apart"),
        ("ts", "0 5 11", "ms", "0.0055 s apart"),
        ("ts", "0 5000 11000", "us", "0.0055 s apart"),
        ("ts", "0 5000000 11000000", "ns", "0.0055 s apart"),
        ("ts", "2024-01-15 2024-01-16", "dates", "as they are written"),
    ],
)
def test_the_unit_of_times_is_guessed_and_said(name: str, values: str, unit: str, why: str) -> None:
    """The unit is guessed from the name, from years near today's, from fractions, or from the time
    between requests."""
    found = guess_unit("", name, values.split())
    assert found.name == unit
    assert why in found.why
    assert guess_unit("ps", name, values.split()).name == "ps"


@pytest.mark.parametrize(
    ("unit", "step"), [("s", 10**9), ("ms", 10**6), ("us", 1000), ("ns", 1), ("100ns", 100)]
)
def test_times_are_taken_in_the_unit_that_is_given(tmp_path: Path, unit: str, step: int) -> None:
    """step: nanoseconds in the unit."""
    text = "time,offset\n5,0\n7,4096\n"
    assert read(tmp_path / "w", text, unit=unit)[1][0] == 2 * step


def test_times_since_1601_fit_a_table(tmp_path: Path) -> None:
    """Windows counts 100 ns since 1601."""
    text = "timestamp,offset\n128166372003061629,0\n128166372003076629,0\n"
    assert read(tmp_path / "w", text)[1][0] == 1_500_000


def test_what_is_guessed_is_told_before_it_is_used(tmp_path: Path) -> None:
    """What is given is marked "as you say"."""
    path = tmp_path / "w.csv"
    path.write_text(HEADED)
    lines = reader.describe_format(path, "")
    about = "any text with named columns (--columns)"
    assert lines[0] == f"w.csv: read as csv: {about} (guessed; --format says another)"
    assert lines[1:] == [
        "columns: time = ts, op = rw, offset = byte_offset, size = len",
        "times in s (guessed: the times have fractions)",
    ]
    assert reader.describe_format(path, "csv:unit=ms")[2] == "times in ms (as you say)"
    assert "(as you say)" in reader.describe_format(path, "csv")[0]


def test_a_simulators_unit_is_asked_for_by_the_name_of_the_option(tmp_path: Path) -> None:
    """The same columns are those of DiskSim and MQSim, in different units."""
    path = tmp_path / "w"
    path.write_text("0 13 13700410 48 1\n1500 13 1 8 0\n")
    with pytest.raises(
        BadTraceFile, match=r"the unit of its times: --time-unit ms\|ns\|ps\|us does"
    ):
        reader.read_requests(path)
    assert read(path, unit="us") == EXPECTED
    assert read(path, unit="ms")[1][0] == 1_500_000_000


def test_an_option_that_a_format_does_not_take_is_refused(tmp_path: Path) -> None:
    """The format SPC has fixed columns and units."""
    path = tmp_path / "w"
    path.write_text("0,13700410,24576,r,0.25\n")
    for given, why in (
        ({"name": "spc", "columns": "time"}, "--columns time: the format spc says itself"),
        ({"unit": "ms"}, "--time-unit ms: the format spc says itself"),
    ):
        with pytest.raises(BadTraceFile, match=why):
            read(path, **given)
    for word, why in (
        ("spc:unit=h", "--time-unit h: must be one of s, ms"),
        ("spc:bad=2", "--bad-lines 2: must be a share of the lines"),
        ("spc:bat=2", '"bat=2" is no option'),
        ("spcc", 'unknown format "spcc"; did you mean "spc"'),
    ):
        with pytest.raises(BadTraceFile, match=why):
            reader.read_requests(path, word)


@pytest.mark.parametrize("word", ["spc:bad=1%", ":bad=0.01", "spc:bad=.01"])
def test_lines_may_be_bad_if_a_share_is_given(tmp_path: Path, word: str) -> None:
    """One of 151 lines is torn; 1 % may be."""
    path = tmp_path / "w"
    path.write_text("0,8,4096,R,0.5\n" * 150 + "torn\n")
    assert len(reader.read_requests(path, word)) == 150
    with pytest.warns(sluice.LeftOutWarning, match=r"lines that cannot be read: 1 \(line 151\)"):
        sluice.read(path, word)
    with pytest.raises(BadTraceFile, match=":151: 1 fields"):
        reader.read_requests(path, word.partition(":")[0])


def test_roles_of_the_heads_of_public_traces_are_known() -> None:
    """The columns' names are those of public traces."""
    for head in (
        "timestamp,op,offset,size",
        "device_id,opcode,offset,length,timestamp",
        "Time,IOType,LBA,Sectors",
        "start_time,op_type,file_offset,request_io_size_bytes",
    ):
        names = head.split(",")
        assert {"time", "op"} < set(find_roles("", names, len(names)).places)


# ---- Parquet ----


def write_parquet(path: Path, **columns: object) -> None:
    """Write a file of two requests. columns: the columns that replace the usual ones."""
    usual = {
        "ts": [5.25, 5.2515],
        "rw": ["R", "W"],
        "comment": [None, "x"],
        "offset": np.array([7014609920, 512], "<u8"),
        "size": np.array([24576, 4096], "<i4"),
    }
    parquet.write_table(pyarrow.table(usual | columns), path)


def test_parquet_is_read_by_the_names_of_its_columns(tmp_path: Path) -> None:
    """A column of truth values may say which requests write."""
    path = tmp_path / "w"
    write_parquet(path)
    assert reader.find_format(path, "").__name__.endswith(".parquet")
    assert read(path) == EXPECTED
    write_parquet(path, flag=[False, True], rw=["?", "?"], ts=[5250000, 5251500])
    assert read(path, columns="time=ts,write=flag,offset,size", unit="us") == EXPECTED


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_a_timestamp_of_parquet_has_its_unit_in_the_file(tmp_path: Path, unit: str) -> None:
    """The second request comes two units after the first one, which is time 0."""
    path = tmp_path / "w"
    write_parquet(path, ts=pyarrow.array([5, 7], pyarrow.timestamp(unit)))
    assert read(path)[1][0] == 2 * {"s": 10**9, "ms": 10**6, "us": 1000, "ns": 1}[unit]
    stored = "ms" if unit == "s" else unit  # Parquet has no seconds
    assert f"times in {stored} (by the column's type)" in reader.describe_format(path, "")


def test_a_wrong_row_of_parquet_is_refused_with_its_number(tmp_path: Path) -> None:
    """If half of the rows may be bad, the other row is read."""
    path = tmp_path / "w"
    for columns, why in (
        ({"rw": ["R", "trim"]}, "row 2: the op 'trim'"),
        ({"size": [24576, None]}, "row 2: the size ''"),
        ({"offset": [-1, 512]}, "row 1: the offset '-1'"),
    ):
        write_parquet(path, **columns)
        with pytest.raises(BadTraceFile, match=why):
            read(path)
        assert read(path, bad="50%") in (EXPECTED[:1], [(0, *EXPECTED[1][1:])])
    write_parquet(path, size=[24576, 0])
    assert read(path) == EXPECTED[:1]
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(BadTraceFile, match="cannot be read: "):
        read(path)
    write_parquet(path)
    with pytest.raises(BadTraceFile, match="there is no column where; the head has ts, rw"):
        read(path, columns="ts,offset=where")


def test_many_groups_of_parquet_are_read_in_order(tmp_path: Path) -> None:
    """A file has groups of rows, here of 9000."""
    path, count = tmp_path / "w", 70_000
    table = pyarrow.table({"time_us": np.arange(count), "block": np.arange(count)})
    parquet.write_table(table, path, row_group_size=9000)
    found = reader.read_requests(path)
    assert (found["time_ns"] == 1000 * np.arange(count)).all()
    assert (found["offset"] == 4096 * np.arange(count)).all()


def test_texts_of_parquet_may_be_of_the_type_binary(tmp_path: Path) -> None:
    """Spark and Impala write them so."""
    for kind in (pyarrow.binary(), pyarrow.large_binary()):
        write_parquet(tmp_path / "w", rw=pyarrow.array([b"R", b"W"], kind))
        assert read(tmp_path / "w") == EXPECTED


def test_two_columns_of_one_name_are_refused_if_they_are_used(tmp_path: Path) -> None:
    columns = [[5.25, 5.2515], [0, 4096], ["x", "y"], ["x", "y"], [512, 512]]
    for name, refused in (("ts", True), ("comment", False)):
        names = ["ts", "offset", name, name, "size"]
        parquet.write_table(pyarrow.table(columns, names), tmp_path / "w")
        if refused:
            with pytest.raises(BadTraceFile, match="3 columns have the name ts: leave one"):
                read(tmp_path / "w")
        else:
            assert read(tmp_path / "w") == [(0, 0, 512, 0), (1_500_000, 4096, 512, 0)]


def test_a_few_times_that_cannot_be_read_do_not_change_the_unit(tmp_path: Path) -> None:
    """One of 101 times is missing, which may be."""
    lines = [f"{i},{i * 4096}" for i in range(100)]
    text = "\n".join(["time,offset", *lines[:50], ",0", *lines[50:]])
    found = read(tmp_path / "w", text, unit="ms", bad="1%")
    assert len(found) == 100
    assert read(tmp_path / "w", text, bad="1%") == found


def test_a_damaged_file_of_parquet_is_refused_whatever_the_byte(tmp_path: Path) -> None:
    """Each byte is wrong once. What is still a file of Parquet may have other requests."""
    write_parquet(tmp_path / "w")
    whole, refused = (tmp_path / "w").read_bytes(), 0
    for at in range(len(whole)):
        wrong = bytearray(whole)
        wrong[at] ^= 0xFF
        (tmp_path / "w").write_bytes(wrong)
        try:
            reader.read_requests(tmp_path / "w", "parquet")
        except BadTraceFile:
            refused += 1
    assert refused
