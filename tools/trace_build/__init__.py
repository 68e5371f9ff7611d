"""Measure what the programs of a real compilation do with files, on the host under strace.

`compilation` compiles this kernel under strace; `calls` reads strace's output; `processes` says of
each process which files it read and wrote, and how; `figures` makes of that a description of the
build; `table` writes the description as user/load/kbuild/measured.c, from which kbuild makes its
load.
"""
