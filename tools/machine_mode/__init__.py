"""Prove what machine mode (kernel/entry.S) guarantees, by calling the real one.

model.py says what each call may do, machines.py runs driver.c in QEMU or Spike, attempts.py makes
lists of calls.
"""
