"""The crash laboratory's workloads and cuts on Linux's file systems, in a guest.

Its judges are so seen to find what is known of ext4's modes, and our own kernel stands beside them.
"""
