"""Several machines on one network: their consoles, and the frames between them.

`wiring` joins the machines' QEMUs, `virtual` runs machines in one virtual time, `consoles` puts
what they print in order, and `notes` reads the frames of a run. `shells` gives a person a shell on
each of two machines. `capture` keeps frames as pcap.
"""
