#!/bin/sh
# fio 3.33 (Debian 12): a replay loses the first pause of an iolog of version 3 that begins at 0.
#
# - Read: each line of version 3 begins with the time since the start of the log, and a replay
#   keeps the distances. A recording that begins at 0 is the natural one to write.
# - Behaviour: a time of 0 counts as "there was no line before". So the distance between the
#   lines at 0 and the first line behind them is dropped, and all that follows comes too early.
# - Seen: writes at 0, 300 and 600 ms are replayed at about 0, 0 and 300 ms. The same log with 1
#   in place of 0 (a microsecond) is replayed at 0, 300 and 600 ms.
# - What follows: an export must begin at 1 or later. Logs that fio wrote itself are safe as long
#   as its first line did not fall into the first microsecond.
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
for first in 0 1; do
    cat >log <<END
fio version 3 iolog
$first $folder/disk add
$first $folder/disk open
$first $folder/disk write 0 4096
300000 $folder/disk write 4096 4096
600000 $folder/disk write 8192 4096
900000 $folder/disk close
END
    LD_LIBRARY_PATH=$libraries root/usr/bin/fio --name=replay --read_iolog=log --ioengine=sync \
        --write_lat_log="from$first" --output=/dev/null
    echo "the log begins at $first: writes at" $(cut -d, -f1 "from${first}_clat.1.log") "ms"
done
gap() { awk -F, 'NR == 1 { first = $1 } NR == 2 { print int(($1 - first) / 200) }' "$1"; }
if [ "$(gap from0_clat.1.log)" != 0 ] || [ "$(gap from1_clat.1.log)" = 0 ]; then
    echo "the behaviour has changed" >&2
    exit 1
fi
