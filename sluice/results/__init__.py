"""Store and quote results: a short form of each experiment's last full results.

`sluice results store NAME` writes NAME.json. A test compares the figures in documents with it.
"""
