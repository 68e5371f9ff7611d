#!/bin/sh
# Fetches another QEMU, of a suite of Debian, unpacks it into a folder and prints
# the path of a program that runs it, for
#   sluice validate repeat --qemu $(tools/other_qemu.sh build/other)
#   sluice validate repeat --qemu $(tools/other_qemu.sh build/newest sid)
#
# - The suite is the backports of the system's own unless another is named:
#   trixie, testing, sid.
# - Nothing is installed: it comes with its libraries, down to the C library,
#   and the program that is printed runs it with them.
# - Packages come from where the system's own come from.
set -eu
[ $# = 1 ] || [ $# = 2 ] || { echo "usage: other_qemu.sh FOLDER [SUITE]" >&2; exit 2; }
. /etc/os-release
suite=${2:-$VERSION_CODENAME-backports}
rm -rf "$1/root" "$1/cache"
mkdir -p "$1/root" "$1/lists/partial" "$1/cache/archives/partial"
folder=$(cd "$1" && pwd)
keys=/usr/share/keyrings/debian-archive-keyring.gpg
mirror=$(apt-get indextargets --format '$(REPO_URI)' "Codename: $VERSION_CODENAME" | head -n 1)
[ -n "$mirror" ] || { echo "other_qemu.sh: apt knows no mirror of $VERSION_CODENAME" >&2; exit 1; }

# Backports need the suite that they are made for.
for each in "$suite" "${suite%-backports}"; do
    echo "deb [signed-by=$keys] $mirror $each main"
done | sort -u >"$folder/sources.list"
: >"$folder/status"
apt() {
    apt-get -q -o Dir::Etc::SourceList="$folder/sources.list" -o Dir::Etc::SourceParts=- \
        -o Dir::State::Lists="$folder/lists" -o Dir::State::status="$folder/status" \
        -o Dir::Cache="$folder/cache" -o APT::Sandbox::User=root "$@" >&2
}
apt update
# As if no package were installed, all that it depends on is fetched.
apt install --yes --download-only --no-install-recommends -t "$suite" qemu-system-riscv
for deb in "$folder"/cache/archives/*.deb; do
    dpkg -x "$deb" "$folder/root"
done

qemu=$folder/qemu-system-riscv64
libc=$(find "$folder/root" -name libc.so.6 | head -n 1)
libraries=${libc%/*} # named after the host's kind of processor
loader=$(find "$folder/root" -name 'ld-linux*.so.*' | head -n 1)
cat >"$qemu" <<END
#!/bin/sh
export QEMU_MODULE_DIR='$folder/root/usr/lib/${libraries##*/}/qemu'
exec '$loader' --library-path '$libraries:$folder/root/usr/lib/${libraries##*/}' \\
    '$folder/root/usr/bin/qemu-system-riscv64' -L '$folder/root/usr/share/qemu' "\$@"
END
chmod +x "$qemu"
"$qemu" --version >&2
echo "$qemu"
