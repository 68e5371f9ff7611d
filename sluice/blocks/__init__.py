"""A trace's requests, straight to the kernel's cache, policies, disk queue and drives: without a
file system, processes or system calls (replayer.c).

decoded.py makes a trace of any format the file that the replayer reads, replayer.py makes one
replay, batch.py many of one trace, and keeps their figures.
"""
