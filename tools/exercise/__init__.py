"""Run programs that change files at random and know what must be in them, on drawn machines.

`drawn.py` draws a machine by a seed: policies, tunables, drives, disks, cache, and what runs.
`outcome.py` makes the run and says what is wrong with it.
"""
