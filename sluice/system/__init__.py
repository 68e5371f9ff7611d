"""A Sluice machine: QEMU, the images of its disks, its trace, and the text of its /dev files."""
