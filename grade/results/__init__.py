"""The last full results of experiments, in short, and the figures of documents that quote them.

NAME.json is written by `make results E=NAME`; the test of documents compares what they say with it.
"""
