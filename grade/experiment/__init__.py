"""Experiments: one TOML file each, many runs in virtual time, one JSON line per run.

`schema` reads and checks a file, `known` asks the kernel what it has,
`run` makes one run, `runner` many, `metrics` are numbers of a run's result,
`summary` is what the terminal shows.
"""
