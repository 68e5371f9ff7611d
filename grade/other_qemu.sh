#!/bin/sh
# Fetches another QEMU, the one of Debian's backports, unpacks it into a folder
# and prints its path, for
#   make test T=test_repeat.py QEMU_OTHER=$(grade/other_qemu.sh build/other)
#
# - Nothing is installed: it uses the libraries of the installed QEMU.
# - Packages come from where the system's own come from.
set -eu
[ $# = 1 ] || { echo "usage: other_qemu.sh FOLDER" >&2; exit 2; }
mkdir -p "$1/lists/partial" "$1/cache/archives/partial" "$1/debs"
folder=$(cd "$1" && pwd)
. /etc/os-release
keys=/usr/share/keyrings/debian-archive-keyring.gpg
mirror=$(apt-get indextargets --format '$(REPO_URI)' "Codename: $VERSION_CODENAME" | head -n 1)
[ -n "$mirror" ] || { echo "other_qemu.sh: apt knows no mirror of $VERSION_CODENAME" >&2; exit 1; }

echo "deb [signed-by=$keys] $mirror $VERSION_CODENAME-backports main" >"$folder/sources.list"
apt() {
    apt-get -q -o Dir::Etc::SourceList="$folder/sources.list" -o Dir::Etc::SourceParts=- \
        -o Dir::State::Lists="$folder/lists" -o Dir::Cache="$folder/cache" \
        -o APT::Sandbox::User=root "$@" >&2
}
apt update
cd "$folder/debs"
apt download qemu-system-riscv qemu-system-common qemu-system-data
for deb in *.deb; do
    dpkg -x "$deb" "$folder"
done
qemu=$folder/usr/bin/qemu-system-riscv64
"$qemu" --version >&2
echo "$qemu"
