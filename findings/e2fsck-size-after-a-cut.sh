#!/bin/sh
# e2fsck 1.47.0 (Debian 12): -p makes a file longer than it ever was, by whole blocks.
#
# - Read: after a power cut an inode may have an older size than its pointers: the block that an
#   append has added lies past the end of the file. Linux mounts such a file system, ext2 as well
#   as ext4, and shows the old size. One expects the check to keep it and to free the block.
# - Behaviour: if the last block begins after the size, e2fsck -p asks nothing and sets the size to
#   the *end* of that block. The file then ends in bytes that no program ever put there. If the size
#   is a multiple of the block size and the block begins just there, all stays as it is.
# - Seen, with blocks of 1 KiB and 4 KiB, in ext2, ext3 and ext4: a file of 15 KiB and 100 bytes.
#   With the size one byte below the start of its last block it has 16 KiB afterwards; with the size at
#   that start, it keeps it, and a second check finds nothing wrong either.
# - What follows: an appended record that is cut off comes back as a record and a tail of whatever
#   the block held before. Who compares a file's size before and after a crash must allow for a
#   size that is greater than any that was ever set. A log's reader must find the end by its records.
#
# Unpacks Debian packages in a temporary folder; fails if the behaviour changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -q -o APT::Sandbox::User=root download e2fsprogs=1.47.0-2+b2 libext2fs2=1.47.0-2+b2 \
    libcom-err2=1.47.0-2+b2 libss2=1.47.0-2+b2 >/dev/null
for package in *.deb; do dpkg -x "$package" root; done
LD_LIBRARY_PATH=$(dirname "$(find root -name 'libext2fs.so.2')")
export LD_LIBRARY_PATH
PATH=$folder/root/sbin:$PATH
e2fsck -V 2>&1 | grep -q '^e2fsck 1.47.0 '

mkdir files
head -c 15460 /dev/urandom >files/f

size() { # IMAGE: the size of /f
    debugfs -R 'stat /f' "$1" 2>/dev/null | sed -n 's/.* Size: //p' | head -n 1
}

for kind in ext2 ext3 ext4; do
    for bytes in 1024 4096; do
        rm -f made
        mke2fs -q -t "$kind" -b "$bytes" -d files made 8M >log 2>&1 || { cat log >&2; exit 1; }
        last=$((15459 / bytes * bytes))
        for set in "$last" $((last - 1)); do
            cp made cut
            printf 'sif /f size %s\nssv state 0\n' "$set" | debugfs -w -f - cut >log 2>&1
            status=0
            e2fsck -p cut >log 2>&1 || status=$?
            test "$status" -le 1
            echo "$kind, blocks of $bytes: size $set becomes $(size cut)"
            if [ "$set" = "$last" ]; then
                test "$(size cut)" = "$last"
            else
                test "$(size cut)" = $((last + bytes))
            fi
            e2fsck -fn cut >log 2>&1
        done
    done
done
echo 'as stated: the size is raised to the end of the last block, unless that begins at the size'
