"""MQSim's ASCII traces whose workload has Time_Unit PICOSECOND; fivefold.py has the rest."""

from sluice.trace.fivefold import SOURCE, looks, reader

__all__ = ["ABOUT", "SEVERAL", "SOURCE", "looks_like", "read"]

ABOUT = "MQSim's ASCII traces, times in ps"
SEVERAL = True
UNIT_PS = 1
looks_like, read = looks(UNIT_PS), reader(UNIT_PS)
