#!/bin/sh
# blkparse 1.2.0 (Debian 12): which of two events of one instant comes first depends on the last.
#
# - Read: blkparse merges the files of all processors by time. Sequence numbers count in each
#   processor's file alone. So where times are equal one expects a fixed order, by processor.
# - Behaviour: blkparse goes on with the processor whose event it printed last. The same pair of
#   processors comes out in one order at one instant and in the other at the next.
# - Seen: two processors, each with an event at the same three instants. Printed are the processors
#   0 1, 1 0, 0 1.
# - What follows: the order of lines with equal times says nothing of the order of requests, and is
#   not even the same for the same pair. Who replays the text, or compares it with another
#   reader's, sorts by time, processor and number first.
#
# Unpacks one Debian package in a temporary folder; fails if the behaviour changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -q -o APT::Sandbox::User=root download blktrace=1.2.0-5 >/dev/null
dpkg -x blktrace_*.deb root
python3 - <<'END'
import struct

WRITE_IS_QUEUED = 1 << 17 | 1 << 20 | 1  # BLK_TC_WRITE, BLK_TC_QUEUE, __BLK_TA_QUEUE


def event(number: int, time: int, cpu: int) -> bytes:
    """Return one struct blk_io_trace: a write of one sector by process 1 to disk 8,0."""
    return struct.pack("<IIQQIIIIIHH", 0x65617407, number, time, 8 * number, 512,
                       WRITE_IS_QUEUED, 1, 8 << 20, cpu, 0, 0)


for cpu in (0, 1):
    with open(f"disk.blktrace.{cpu}", "wb") as file:
        for number in (1, 2, 3):
            file.write(event(number, 1000 * number, cpu))
END
root/usr/bin/blkparse -q -i disk -f '%T.%9t processor %c, number %s\n' >printed 2>/dev/null
cat printed
if [ "$(sed -n 's/.*processor *\([01]\).*/\1/p' printed | tr -d '\n')" != 011001 ]; then
    echo "the behaviour has changed" >&2
    exit 1
fi
