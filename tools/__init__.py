"""Programs for those who work on Sluice itself: setup, benchmarks, mutants, gdb."""
