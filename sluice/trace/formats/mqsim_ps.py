"""MQSim's ASCII traces whose workload has Time_Unit PICOSECOND; fivefold.py has the rest."""

from sluice.trace.fivefold import SOURCE, make_looks_like, make_reader

__all__ = ["ABOUT", "SEVERAL", "SOURCE", "looks_like", "read"]

ABOUT = "MQSim's ASCII traces, times in ps"
SEVERAL = True
UNIT = "ps"  # for --time-unit
UNIT_PS = 1
looks_like, read = make_looks_like(UNIT_PS), make_reader(UNIT_PS)
