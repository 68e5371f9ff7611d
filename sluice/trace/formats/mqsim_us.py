"""MQSim's ASCII traces whose workload has Time_Unit MICROSECOND; fivefold.py has the rest."""

from sluice.trace.fivefold import SOURCE, make_looks_like, make_reader

__all__ = ["ABOUT", "SEVERAL", "SOURCE", "looks_like", "read"]

ABOUT = "MQSim's ASCII traces, times in us"
SEVERAL = True
UNIT = "us"  # for --time-unit
UNIT_PS = 10**6
looks_like, read = make_looks_like(UNIT_PS), make_reader(UNIT_PS)
