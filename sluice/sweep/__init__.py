"""Sweeps: an experiment's figures over any numbers that it depends on, measured by the twin."""
