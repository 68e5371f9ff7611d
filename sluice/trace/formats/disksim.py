"""DiskSim's ASCII traces, which SSDSim reads, too: times in ms; fivefold.py has the rest."""

from sluice.trace.fivefold import looks, reader

ABOUT = "DiskSim's and SSDSim's ASCII traces, times in ms"
SOURCE = "DiskSim 4.0, Reference Manual: the default format of traces"
SEVERAL = True
UNIT_PS = 10**9
looks_like, read = looks(UNIT_PS), reader(UNIT_PS)
