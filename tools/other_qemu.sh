#!/bin/sh
# Fetches another QEMU, of a suite of Debian, unpacks it into a folder and prints
# the path of a program that runs it, for
#   sluice validate repeat --qemu $(tools/other_qemu.sh build/other)
#   sluice validate repeat --qemu $(tools/other_qemu.sh build/newest sid)
#
# - The suite is the backports of the system's own unless another is named:
#   trixie, testing, sid.
# - debian_suite.sh fetches the packages; nothing is installed.
set -eu
[ $# = 1 ] || [ $# = 2 ] || { echo "usage: other_qemu.sh FOLDER [SUITE]" >&2; exit 2; }
. "$(dirname "$0")/debian_suite.sh"
. /etc/os-release
suite=${2:-$VERSION_CODENAME-backports}
base=${suite%-backports} # backports need the suite that they are made for
[ "$base" != "$suite" ] || base=
open_suite "$1" "$suite" $base
fetch_packages -t "$suite" qemu-system-riscv
unpack_packages

qemu=$folder/qemu-system-riscv64
cat >"$qemu" <<END
#!/bin/sh
export QEMU_MODULE_DIR='$folder/root/usr/lib/${libraries##*/}/qemu'
exec '$loader' --library-path '$path' \\
    '$folder/root/usr/bin/qemu-system-riscv64' -L '$folder/root/usr/share/qemu' "\$@"
END
chmod +x "$qemu"
"$qemu" --version >&2
echo "$qemu"
