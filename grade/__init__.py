"""Everything of Sluice that runs on the host: machines, images, tests, measurements.

It sees the system through the console, the text of /dev, the trace and the image only; what
sees more is named in tests/kernel/test_layers.py.
"""
