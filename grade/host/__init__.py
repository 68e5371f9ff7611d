"""The host: where files are, snapshots of the tree, limits against hangs, and Dask workers."""
