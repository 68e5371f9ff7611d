"""The verbs of `sluice`: options, calls and printing, and nothing else. main.py has their table."""
