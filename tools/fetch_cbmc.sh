#!/bin/sh
# Fetches CBMC, a checker that proves properties of C, of a suite of Debian,
# unpacks it into a folder and prints the path of a program that runs it. For
# sluice dev prove:
#   tools/fetch_cbmc.sh build/cbmc
#
# - The suite is trixie (Debian 13) unless another is named; Debian 12 has none.
# - Nothing is installed: it comes with its libraries, down to the C library,
#   and the program that is printed runs it with them.
# - Packages come from where the system's own come from. The package of CBMC
#   must be the one whose SHA-256 stands below, as another version may prove
#   other things; apt checks the libraries by Debian's signature.
set -eu
[ $# = 1 ] || [ $# = 2 ] || { echo "usage: fetch_cbmc.sh FOLDER [SUITE]" >&2; exit 2; }
. /etc/os-release
suite=${2:-trixie}
sha256=02560859a17049c976961c232c4fc58f0747b57f9b751a466b1f368a438b0e41
rm -rf "$1/root" "$1/cache"
mkdir -p "$1/root" "$1/lists/partial" "$1/cache/archives/partial"
folder=$(cd "$1" && pwd)
keys=/usr/share/keyrings/debian-archive-keyring.gpg
mirror=$(apt-get indextargets --format '$(REPO_URI)' "Codename: $VERSION_CODENAME" | head -n 1)
[ -n "$mirror" ] || { echo "fetch_cbmc.sh: apt knows no mirror of $VERSION_CODENAME" >&2; exit 1; }
echo "deb [signed-by=$keys] $mirror $suite main" >"$folder/sources.list"
: >"$folder/status"
apt() {
    apt-get -q -o Dir::Etc::SourceList="$folder/sources.list" -o Dir::Etc::SourceParts=- \
        -o Dir::State::Lists="$folder/lists" -o Dir::State::status="$folder/status" \
        -o Dir::Cache="$folder/cache" -o APT::Sandbox::User=root "$@" >&2
}
apt update
# As if no package were installed, all that it depends on is fetched, also a
# compiler. That is not unpacked: CBMC has C preprocessed by the system's gcc.
apt install --yes --download-only --no-install-recommends cbmc
set -- "$folder"/cache/archives/cbmc_*.deb
case $1 in
*_amd64.deb) # the only architecture that was tried
    echo "$sha256  $1" | sha256sum -c --quiet >&2 || {
        echo "fetch_cbmc.sh: $1 is not the CBMC that was tried (SHA-256 $sha256)" >&2; exit 1; } ;;
esac
for deb in "$folder"/cache/archives/*.deb; do
    case ${deb##*/} in
    binutils* | cpp* | gcc-1[0-9]_* | gcc-1[0-9]-x* | gcc_* | gcc-x* | *san[0-9]*) ;;
    *) dpkg -x "$deb" "$folder/root" ;;
    esac
done
rm -rf "$folder/cache" "$folder/lists"

cbmc=$folder/cbmc
libc=$(find "$folder/root" -name libc.so.6 | head -n 1)
libraries=${libc%/*} # named after the host's kind of processor
loader=$(find "$folder/root" -name 'ld-linux*.so.*' | head -n 1)
path=$libraries:$folder/root/usr/lib/${libraries##*/}:$folder/root/usr/lib
cat >"$cbmc" <<END
#!/bin/sh
exec '$loader' --library-path '$path' '$folder/root/usr/bin/cbmc' "\$@"
END
chmod +x "$cbmc"
"$cbmc" --version >&2
echo "$cbmc"
