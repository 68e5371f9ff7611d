"""The policies that policies/README.md names to be read first."""

import re

from sluice.host.paths import ROOT

PAGE = (ROOT / "policies" / "README.md").read_text()
ROW = re.compile(r"^(\d+)\. \[`(\w+/\w+\.c)`\]\((\w+/\w+\.c)\), [^:]+: .+\.$", re.M)


def test_fourteen_policies_are_named_in_order_and_each_is_there() -> None:
    """The rows are numbered from 1 to 14. A row's link is the path that it shows."""
    rows = ROW.findall(PAGE)
    assert [int(number) for number, _, _ in rows] == list(range(1, 15))
    assert all(shown == link for _, shown, link in rows)
    missing = [link for _, _, link in rows if not (ROOT / "policies" / link).is_file()]
    assert not missing
    assert len({link for _, _, link in rows}) == len(rows)


def test_each_kind_is_among_them() -> None:
    kinds = {path.parent.name for path in ROOT.glob("policies/*/*.c")} - {"lib"}
    assert {link.split("/")[0] for _, _, link in ROW.findall(PAGE)} == kinds
