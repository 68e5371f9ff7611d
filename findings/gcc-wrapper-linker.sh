#!/bin/sh
# gcc-riscv64-unknown-elf 12.2.0 (Debian 12): -wrapper does not wrap the linker.
#
# - Read: -wrapper invokes all subcommands of the driver under another program.
# - Behaviour: the compiler proper, the assembler and collect2 are invoked so. The linker itself is
#   not: collect2 starts it, and knows nothing of the option. There is no word about it.
# - Seen: one command that compiles and links invokes cc1, as and collect2 through the wrapper, and
#   ld without it; the program is linked all the same.
# - What follows: a toolchain that is unpacked beside a system whose C library is older, and runs
#   by its own ld.so as the wrapper, compiles every file and fails in its first link. A wrapper that
#   counts, limits or records commands misses the links. Put a script named ld into a folder that
#   -B names: collect2 finds it first.
#
# Unpacks two Debian packages in a temporary folder; fails if the behaviour changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -q -o APT::Sandbox::User=root download gcc-riscv64-unknown-elf=12.2.0-14+deb12u1+11+b2 \
    binutils-riscv64-unknown-elf=2.40-2+4+b1 >/dev/null
for package in *.deb; do
    dpkg -x "$package" root
done
cat >wrapper <<'EOF'
#!/bin/sh
echo "${1##*/}" >>"$WRAPPED"
exec "$@"
EOF
chmod +x wrapper
echo 'int main(void) { return 0; }' >main.c
WRAPPED=$folder/wrapped root/usr/bin/riscv64-unknown-elf-gcc -wrapper "$folder/wrapper" \
    -nostdlib -Wl,-e,main -o main main.c
root/usr/bin/riscv64-unknown-elf-readelf -h main | grep -q 'Type: *EXEC'
printf 'cc1\nas\ncollect2\n' | cmp - wrapped
echo "linked, and ld was not among the wrapped: $(tr '\n' ' ' <wrapped)"
