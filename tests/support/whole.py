"""FULL=1: tests also do what takes long. The proof of one lab (LAB=) is in full unless FULL=0."""

import os

import pytest

ONE = os.environ.get("LAB")
WHOLE = os.environ.get("FULL", "1" if ONE else "") == "1"

in_full = pytest.mark.skipif(not WHOLE, reason="only with FULL=1")
