#!/bin/sh
# libfsext-python 20260821 (PyPI): the size of an ext2 file of over 4 GiB is its remainder.
#
# - Read: ext2 of revision 1 keeps the upper half of a regular file's size in the inode
#   (i_size_high, once i_dir_acl), under the feature large_file, years before ext4.
# - Behaviour: libfsext takes the upper half on ext4 only. On ext2 the size is taken modulo 4 GiB,
#   and what lies behind cannot be read. No error is raised.
# - Seen: a file of 4 GiB + 5 bytes that e2fsck finds sound has the size 5; in ext4 made by the
#   same command it has 4294967301.
# - What follows: listings and copies of images of disks, data bases and traces in old file
#   systems are short, silently. Ask debugfs for the size where the feature large_file is set.
#
# Installs libfsext in a temporary folder; needs mke2fs; fails if the behaviour changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install -q --disable-pip-version-check libfsext-python==20260821 2>/dev/null
mkdir files
truncate -s 4294967301 files/large
for kind in ext2 ext4; do
    mke2fs -q -t "$kind" -b 4096 -d files "$kind" 64M 2>made || { cat made >&2; exit 1; }
    e2fsck -fn "$kind" >/dev/null 2>&1
done
env/bin/python - <<'END'
import pyfsext

sizes = {}
for kind in ("ext2", "ext4"):
    volume = pyfsext.volume()
    volume.open(kind)
    sizes[kind] = volume.get_file_entry_by_path("/large").size
    print(f"{kind}: {sizes[kind]} bytes")
if sizes != {"ext2": 5, "ext4": 2**32 + 5}:
    raise SystemExit("the behaviour has changed")
END
