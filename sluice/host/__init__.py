"""Use the host: paths of files, temporary folders, snapshots of the tree, limits against hangs, and
Dask workers.
"""
