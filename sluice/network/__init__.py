"""Several machines on one network: their consoles, and the frames between them.

`wiring` joins the machines' QEMUs, `virtual` runs machines in one virtual time, `consoles` puts
what they print in order, `notes` reads the frames of a run, and `capture` keeps frames as pcap.
"""
