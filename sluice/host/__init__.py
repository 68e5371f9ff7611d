"""The host: where files are, folders for work that is under way, snapshots of the tree, limits
against hangs, and Dask workers.
"""
