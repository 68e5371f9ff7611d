"""A trace's requests, straight to the kernel's cache, policies, disk queue and drives: without a
file system, processes or system calls (sluice/blocks/replayer.c)."""
