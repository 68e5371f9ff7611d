"""Export a run's trace in the formats of tools that people already use.

`requests` pairs events to requests, `recording` repeats a run and keeps its trace, and
`formats/` has a file for each format. A format's module has `ABOUT`, one line, and
`write(recording, folder)`, which makes files in the folder and returns commands that open them.
Nothing else names a format.
"""
