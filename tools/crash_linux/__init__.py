"""The crash laboratory's workloads and cuts on Linux's file systems, in a guest.

So one sees whether its judges find what is known of ext4's modes. Our own kernel is cut, too, and
stands beside them in the table.
"""
