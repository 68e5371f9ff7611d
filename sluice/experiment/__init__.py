"""Experiments: one TOML file each, many runs in virtual time, one JSON line per run.

`selection` finds the experiments that a word selects. `schema` lists what a file may contain, and
`load` reads and checks it. `catalogue` asks the kernel what it has. `run` makes one run, `runner`
makes many. `metrics` computes numbers from a run's result, `expect` judges them, and `summary`
writes the text for the terminal.
"""
