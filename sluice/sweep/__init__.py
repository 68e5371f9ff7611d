"""Sweep an experiment: measure its figures over any numbers that it depends on, by the twin."""
