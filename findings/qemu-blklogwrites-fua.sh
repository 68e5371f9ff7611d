#!/bin/sh
# qemu-utils 7.2 (Debian 12): the log of blklogwrites does not show that a write was forced.
#
# - Read: blklogwrites logs writes in the format of dm-log-writes, which has a flag FUA (2) for a
#   write that must be stable when it completes. Tools that try crashes cut a log there.
# - Behaviour: over a file, QEMU does not pass FUA down but makes a flush of it. The entry has no
#   flag; and where nothing else was written since the last flush, no flush is logged behind it
#   either.
# - Seen: a write, a flush, and three writes with FUA, each sent when the one before had completed.
#   The entries of the first two forced writes stand side by side, both with flags 0: by the log
#   the first was not yet stable when the second was made.
# - What follows: a crash test that takes what lies before the last flush or FUA for stable calls
#   a forced write "may be lost". Make the guest flush after the writes that must be stable, or
#   offer it a disk without FUA.
#
# Unpacks one Debian package in a temporary folder; fails if the behaviour changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -q -o APT::Sandbox::User=root download qemu-utils='1:7.2+dfsg-7+deb12u18+b3' >/dev/null
dpkg -x qemu-utils_*.deb root
truncate -s 1M disk
truncate -s 1M log
root/usr/bin/qemu-io -t writeback -c 'write 0 4k' -c flush -c 'write -f 4k 4k' -c 'write -f 8k 4k' \
    -c 'write -f 12k 4k' --image-opts "driver=blklogwrites,file.driver=file,file.filename=disk,\
log.driver=file,log.filename=log" >/dev/null
python3 - <<'END'
import struct

with open("log", "rb") as file:
    log = file.read()
magic, version, entries, sector = struct.unpack_from("<QQQI", log)
assert (magic, version, sector) == (0x6A736677736872, 1, 512)
seen = []
at = sector
for _ in range(entries):
    first, count, flags, _ = struct.unpack_from("<QQQQ", log, at)
    seen.append((first, count, flags))
    print(f"sector {first}, {count} sectors, flags {flags}")
    at += sector * (1 + count)
# 8 and 16 are where the first two forced writes begin; (0, 0, 1) is a flush.
if seen[:4] != [(0, 8, 0), (0, 0, 1), (8, 8, 0), (16, 8, 0)] or any(f & 2 for _, _, f in seen):
    raise SystemExit("the behaviour has changed")
END
