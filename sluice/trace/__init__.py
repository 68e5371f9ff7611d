"""Traces of requests to real disks: read, fitted to a drive, and replayed by Sluice.

A module of formats/ reads one format into the common table (common.py). fit.py cuts it to the size
of a drive, splits and joins requests, and scales time. packed.py writes it as the file that the
program ioplay (program/ioplay.c) replays in the machine and in the twin.
"""
