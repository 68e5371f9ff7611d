#!/bin/sh
# CBMC 6.6.0 (Debian 13): a range initialiser sets only the first element of its range.
#
# - Read: `int t[4] = {[0 ... 3] = 1}`, GNU's range of a designated initialiser, sets all four.
#   Both gcc and clang do so; the Linux kernel and many device drivers fill tables with it.
# - Behaviour: CBMC parses the range, warns of nothing, sets the first element, and leaves 0 in the
#   others.
# - Seen: it proves t[0] == 1, and t[3] == 0, with the words VERIFICATION SUCCESSFUL. The same
#   program, compiled by gcc and run, has t[3] == 1.
# - What follows: a proof about code that reads such a table holds for another table. Write the
#   elements out in what is proved, or assert the last element of each range first.
#
# Unpacks packages of Debian 13 in a temporary folder; needs gcc; fails if the behaviour changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir -p lists/partial cache/archives/partial
: >status
keys=/usr/share/keyrings/debian-archive-keyring.gpg
mirror=$(apt-get indextargets --format '$(REPO_URI)' | head -n 1)
echo "deb [signed-by=$keys] $mirror trixie main" >sources.list
apt() {
    apt-get -q -o Dir::Etc::SourceList="$folder/sources.list" -o Dir::Etc::SourceParts=- \
        -o Dir::State::Lists="$folder/lists" -o Dir::State::status="$folder/status" \
        -o Dir::Cache="$folder/cache" -o APT::Sandbox::User=root "$@" >>apt.log 2>&1
}
apt update
apt download cbmc=6.6.0-4 minisat=1:2.2.1-8 libc6 libstdc++6 libgcc-s1 zlib1g
for package in *.deb; do dpkg -x "$package" root; done
loader=$(find root -name 'ld-linux*.so.*' | head -n 1)
libc=$(find root -name libc.so.6 | head -n 1)
cbmc() { "$loader" --library-path "${libc%/*}:root/usr/lib" root/usr/bin/cbmc "$@"; }

cat >table.c <<'END'
#include <assert.h>

static const int table[4] = {[0 ... 3] = 1};

int main(void)
{
    assert(table[0] == 1);
    assert(table[3] == LAST);
    return 0;
}
END
gcc -DLAST=1 table.c -o table
./table
echo "gcc: the last element is 1"
cbmc -DLAST=0 table.c >said || true
grep -E 'assertion|VERIFICATION' said
grep -q '^VERIFICATION SUCCESSFUL' said || { echo "the behaviour has changed" >&2; exit 1; }
