#!/bin/sh
# CBMC 6.6.0 (Debian 13): a variable's cleanup function is never called.
#
# - Read: `__attribute__((cleanup(f)))` has f called when the variable goes out of scope: guards of
#   locks in the Linux kernel, systemd's and GLib's automatic frees are made so.
# - Behaviour: CBMC accepts the attribute, warns of nothing, and makes no call of f.
# - Seen: a function takes a lock whose guard gives it back. CBMC proves that the lock is still
#   taken after the function, with the words VERIFICATION SUCCESSFUL. Compiled by gcc and run, the
#   same program has the lock free.
# - What follows: with guards, what is proved of locks, leaks and counts of references is of another
#   program; a second call then looks like a deadlock, and code behind it is not reached, so it is
#   "proved", too. Call the function by name in what is proved, and assert something false at the
#   end of each proof: it must fail.
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

cat >guard.c <<'END'
#include <assert.h>

static int taken;

static void give_back(int *guard)
{
    taken -= *guard;
}

static void work(void)
{
    int guard __attribute__((cleanup(give_back))) = 1;
    taken += guard;
}

int main(void)
{
    work();
    assert(taken == TAKEN);
    return 0;
}
END
gcc -DTAKEN=0 guard.c -o guard
./guard
echo "gcc: the lock is free after the call"
cbmc -DTAKEN=1 guard.c >said || true
grep -E 'assertion|VERIFICATION' said
grep -q '^VERIFICATION SUCCESSFUL' said || { echo "the behaviour has changed" >&2; exit 1; }
