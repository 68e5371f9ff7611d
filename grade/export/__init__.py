"""A run's trace in the formats that tools people already use can open.

`requests` pairs events to requests, `recording` remakes a run with its trace
kept, `formats/` has a file for each format. A format's module has `ABOUT`, one
line, and `write(recording, folder)`, which makes files in the folder and
returns commands that open them. Nothing else names a format.
"""
