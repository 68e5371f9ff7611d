"""The crash laboratory: what every power cut leaves of every short workload.

The twin does a workload once and keeps what reached the drive, in order. Each cut, with each choice
of what a volatile cache had written by then, is an image; e2fsck, our own mount and a model judge
it.
"""
