"""Search all that may come next in a small cache: `sluice dev search`.

The C files are the search itself (main.c and explore.c) and the machine under it (machine.c).
searcher.py runs it, path_story.py tells a counterexample, coverage.py says which places of the
sources were reached, and mutants.py plants faults by rule. command.py puts them together.
"""
