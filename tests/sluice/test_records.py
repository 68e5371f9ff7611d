"""The records of experiments have the keys and types that files are checked for.

schema.py has a table of fields for each table of an experiment's file, by which files are checked;
records.py has a TypedDict for it, by which mypy checks the code. TABLES pairs them, with keys that
only the record has.
"""

import types
from collections.abc import Mapping
from typing import Any, Union, get_args, get_origin, get_type_hints, is_typeddict

import pytest

from sluice.experiment import records, result, schema

pytestmark = [pytest.mark.native, pytest.mark.check]

TABLES = [
    (schema.MACHINE, records.MachineConfig, {"trace", "engine"}),
    (schema.DISK, records.DiskConfig, set()),
    (schema.NETWORK, records.NetworkTable, set()),
    (schema.TOP, records.FileTables, set()),
    (schema.ARM, records.Arm, set()),
    (schema.WORKLOAD, records.Workload, set()),
    (schema.TRACE, records.TraceTable, set()),
    (schema.MODEL, records.ModelTable, set()),
    (schema.PLOT, records.Plot, set()),
    (schema.EQUAL, records.EqualArms, set()),
    (schema.PUBLISHED, records.PublishedFigure, set()),
    (schema.EXPECTATION, records.Expectation, set()),
    (schema.CONTEST, records.ContestTable, set()),
    (schema.TUNE, records.TuneTable, set()),
]
KINDS = {  # of a field: the type of its value
    "text": str,
    "drive": str,
    "size": str,
    "number": int,
    "real": float,
    "list": list,
    "table": dict,
    "tables": list,
}


def plain_types(hint: Any) -> set[type | None]:
    """Return the types that a value may have, without what is in a list or dict."""
    if get_origin(hint) in (Union, types.UnionType):
        return set().union(*map(plain_types, get_args(hint)))
    if hint is type(None):
        return {None}
    plain = get_origin(hint) or hint
    return {dict if is_typeddict(hint) or plain is Mapping else plain}


def wrong_keys(fields: dict[str, schema.Field], record: type, more: set[str]) -> set[str]:
    """Return the keys that only a record or only its checked table has, or that have another type
    there. more: keys that only the record has. Where a file may leave out a key, the record must
    say that it may be None; lists and tables are empty then, so they need not."""
    hints = get_type_hints(record)
    wrong = set(hints) ^ (set(fields) | more)
    for name, row in fields.items():
        may_lack = row.default is None and not row.required and KINDS[row.kind] not in (list, dict)
        expected = {KINDS[row.kind]} | ({None} if may_lack else set())
        found = plain_types(hints[name]) if name in hints else expected
        if found - {None} != expected - {None} or (may_lack and None not in found):
            wrong.add(name)
    return wrong


@pytest.mark.parametrize("fields, record, more", TABLES)
def test_a_checked_table_is_what_its_record_says(fields, record, more):
    """more: keys that the loader adds."""
    assert wrong_keys(fields, record, more) == set()


def test_every_table_of_the_schema_has_a_record():
    """TABLES has each dictionary of fields in schema.py."""
    of_schema = [
        value
        for value in vars(schema).values()
        if isinstance(value, dict)
        and value
        and all(isinstance(v, schema.Field) for v in value.values())
    ]
    assert len(of_schema) == len(TABLES)
    assert all(any(one is fields for fields, _, _ in TABLES) for one in of_schema)


def test_a_record_that_lacks_a_key_or_has_another_type_is_noticed():
    """The record Workload has not these fields but two others; DiskConfig has `fill` as a
    number."""
    fields = {"name": schema.Field("text", ""), "count": schema.Field("number", "", 1)}
    assert wrong_keys(fields, records.Workload, set()) == {*fields, "setup", "commands"}
    assert "fill" in wrong_keys(
        schema.DISK | {"fill": schema.Field("text", "", "")}, records.DiskConfig, set()
    )


def test_a_result_has_the_keys_that_are_checked_when_it_is_read():
    """The same for the results of runs (result.py)."""
    hints = get_type_hints(records.RunResult)
    assert set(hints) == {*result.LINE, *result.OPTIONAL}
    assert set(get_type_hints(records.DiskBins)) == set(result.DISK)
    assert set(get_type_hints(records.TraceSeries)) == set(result.LINE["series"])
    configuration = get_type_hints(records.Configuration)
    assert set(result.LINE["config"]) - {result.ANY} <= set(configuration)
    histogram = result.LINE["histograms"][result.ANY]
    assert set(get_type_hints(records.Histogram)) == set(histogram)
