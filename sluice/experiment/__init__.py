"""Experiments: one TOML file each, many runs in virtual time, one JSON line per run.

`choose` says which are meant, `schema` what a file may say, `load` reads and checks it; `known`
asks the kernel what it has, `run` makes one run, `runner` many, `metrics` are numbers of a run's
result, `expect` judges them, `summary` is what the terminal shows.
"""
