"""Everything of Sluice that runs on the host: machines, images, tests, measurements.

It sees the system through the console, the text of /dev, and the image only.
"""
