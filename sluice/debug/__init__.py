"""A run made again: its trace is kept, its machine stops at any event of it, in gdb, and a read
tells why it took so long.

`kept` makes a run once and keeps its trace. `instant` finds the event that AT= means, and `stop`
opens gdb there (gdb's side is tools/gdb/replay.py). `served` says what the drive did for each
command, and `chain` what a read waited for.
"""
