"""The twin: the kernel and the user programs compiled for the host, around a virtual clock.

The C sources here are the machine that the kernel finds there (host.c); the Python modules start
it.
"""
