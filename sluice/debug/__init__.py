"""Repeats a run, to stop its machine at any event in gdb, and to explain why a read took so long.

`stored_run` makes a run once and keeps its trace. `instant` finds the event that --at selects, and
`stop` opens gdb there (gdb's side is tools/gdb/replay.py). `chain` computes what a read waited for,
and `narrative` puts that into words.
"""
