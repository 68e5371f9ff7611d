"""Measure how fast Sluice is: in real time, in virtual time (scaling), and against its targets."""
