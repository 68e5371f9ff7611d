#!/bin/sh
# dissect.extfs 3.15 (PyPI): a file that ends in a hole ends in the file system's superblock.
#
# - Read: a block pointer of 0 in an inode is a hole, and reads as zeros. Holes in the middle of a
#   file do so here.
# - Behaviour: in a file without extents, when the last block of a file is a hole, the block of
#   that number is read: block 0, which holds the superblock in blocks of 2 KiB and more. No error.
# - Seen: 4 KiB of data, extended by truncate to 16 KiB, in ext2 with blocks of 4 KiB, made by
#   mke2fs -d and clean for e2fsck. The last 4 KiB read back have the magic number 53 ef at 1,080.
#   A file with a hole of 8 KiB in its middle is read as it is.
# - What follows: sums of files that ftruncate made (data bases, images of disks, core files)
#   differ from those of the mounted file system. Compare with debugfs, or fill the last block.
#
# Installs dissect.extfs in a temporary folder; needs mke2fs; fails if the behaviour changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install -q --disable-pip-version-check dissect.extfs==3.15 dissect.cstruct==4.7 \
    dissect.util==3.24
mkdir files
printf 'data' >files/middle
truncate -s 12K files/middle
printf 'data' >>files/middle
printf 'data' >files/end
truncate -s 16K files/end
mke2fs -q -t ext2 -b 4096 -d files image 8M 2>made || { cat made >&2; exit 1; }
e2fsck -fn image >/dev/null 2>&1
env/bin/python - <<'END'
from dissect.extfs import ExtFS

same = {}
with open("image", "rb") as image:
    files = ExtFS(image)
    for name in ("middle", "end"):
        got = files.get(name).open().read()
        with open(f"files/{name}", "rb") as file:
            wanted = file.read()
        same[name] = got == wanted
        wrong = [at for at in range(len(wanted)) if got[at] != wanted[at]]
        print(name, "is read as it is" if not wrong else f"differs first at byte {wrong[0]}")
    magic = got[12288 + 1080 : 12288 + 1082]
    print("at byte 1,080 of the last block of `end`:", magic.hex(" "))
if same != {"middle": True, "end": False} or magic != b"\x53\xef":
    raise SystemExit("the behaviour has changed")
END
