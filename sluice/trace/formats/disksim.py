"""DiskSim's ASCII traces, which SSDSim reads, too. fivefold.py describes the format."""

from sluice.trace.fivefold import make_looks_like, make_reader

ABOUT = "DiskSim's and SSDSim's ASCII traces, times in ms"
SOURCE = "DiskSim 4.0, Reference Manual: the default format of traces"
SEVERAL = True
UNIT = "ms"  # for --time-unit
UNIT_PS = 10**9
looks_like, read = make_looks_like(UNIT_PS, fractions=True), make_reader(UNIT_PS)
