#!/bin/sh
# Fetches CBMC, a checker that proves properties of C, of a suite of Debian,
# unpacks it into a folder and prints the path of a program that runs it. For
# sluice dev prove:
#   tools/fetch_cbmc.sh build/cbmc
#
# - The suite is trixie (Debian 13) unless another is named; Debian 12 has none.
# - debian_suite.sh fetches the packages; nothing is installed.
# - The package of CBMC must be the one whose SHA-256 stands below, as another
#   version may prove other things; apt checks the libraries by Debian's
#   signature.
set -eu
[ $# = 1 ] || [ $# = 2 ] || { echo "usage: fetch_cbmc.sh FOLDER [SUITE]" >&2; exit 2; }
. "$(dirname "$0")/debian_suite.sh"
sha256=02560859a17049c976961c232c4fc58f0747b57f9b751a466b1f368a438b0e41
open_suite "$1" "${2:-trixie}"
fetch_packages cbmc
set -- "$folder"/cache/archives/cbmc_*.deb
case $1 in
*_amd64.deb) # the only architecture that was tried
    echo "$sha256  $1" | sha256sum -c --quiet >&2 || {
        echo "fetch_cbmc.sh: $1 is not the CBMC that was tried (SHA-256 $sha256)" >&2; exit 1; } ;;
esac
# CBMC has C preprocessed by the system's gcc: the compiler that it depends on is left out.
unpack_packages 'binutils*' 'cpp*' 'gcc-1[0-9]_*' 'gcc-1[0-9]-x*' 'gcc_*' 'gcc-x*' '*san[0-9]*'
rm -rf "$folder/cache" "$folder/lists"

cbmc=$folder/cbmc
path=$path:$folder/root/usr/lib
cat >"$cbmc" <<END
#!/bin/sh
exec '$loader' --library-path '$path' '$folder/root/usr/bin/cbmc' "\$@"
END
chmod +x "$cbmc"
"$cbmc" --version >&2
echo "$cbmc"
