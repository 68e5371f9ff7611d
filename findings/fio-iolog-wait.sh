#!/bin/sh
# fio 3.33 (Debian 12): `wait N` in an iolog of version 2 waits about a thousand times too long.
#
# - Read: "Wait for `offset` microseconds. The time is relative to the previous wait statement."
# - Behaviour: the number is in milliseconds, and counts from the start of fio, not from the line
#   before. A second wait of the same number does not wait at all.
# - Seen: a write, `wait 400`, a write, `wait 400`, a write. By the manual the writes are 0.4 ms
#   apart. The second one comes some 0.3 s after the first (the job began when fio was 0.1 s
#   old), and the third at once.
# - What follows: a program that writes such a log by the manual makes a replay that stretches
#   short think times a thousandfold and drops later ones. Write version 3, which has a time in
#   each line; a reader of version 2 must say whose rule it follows.
#
# Unpacks fio and the libraries that it lacks in a temporary folder; fails if the behaviour changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get install -s --no-install-recommends fio=3.33-3 | sed -n 's/^Inst \([^ ]*\) (\([^ ]*\) .*/\1=\2/p' |
    xargs apt-get -q -o APT::Sandbox::User=root download >/dev/null
for package in *.deb; do
    dpkg -x "$package" root
done
libraries=$(find "$folder/root/usr/lib" -type d | paste -sd:)
truncate -s 1M disk
cat >log <<END
fio version 2 iolog
$folder/disk add
$folder/disk open
$folder/disk write 0 4096
$folder/disk wait 400 0
$folder/disk write 4096 4096
$folder/disk wait 400 0
$folder/disk write 8192 4096
$folder/disk close
END
LD_LIBRARY_PATH=$libraries root/usr/bin/fio --name=replay --read_iolog=log --ioengine=sync \
    --write_lat_log=seen --output=/dev/null
echo "the writes' times in ms:" $(cut -d, -f1 seen_clat.1.log)
awk -F, '{ at[NR] = $1 } END { exit !(NR == 3 && at[2] - at[1] > 100 && at[3] - at[2] < 100) }' \
    seen_clat.1.log || { echo "the behaviour has changed" >&2; exit 1; }
