#!/bin/sh
# Build the search (tools/search/explore.c) into build/search/: the kernel's own cache, queue and
# policies with small limits, and the machine under them. Then for example
#
#   build/search/search --blocks 4 --buffers 4 --depth 2 --milliseconds 5000 --args update=pu \
#       'D0 D1 F' 'R2 W0'
#
# A violation ends with a line "path"; with --replay and that path the same command tells the story.
set -e
cd "$(dirname "$0")/../.."
mkdir -p build/search
find kernel/cache kernel/disk kernel/vlog drives policies/lib policies/sched tools/search -name '*.c' \
    >build/search/sources
for f in kernel/policy/registry kernel/proc/wait kernel/proc/sleeplock policies/update/pu \
    policies/update/aipu policies/write/delayed policies/write/through policies/write/async \
    policies/write/balanced policies/replace/lru policies/replace/cflru policies/prefetch/none \
    policies/place/inplace policies/order/none; do
    echo "$f.c"
done >>build/search/sources
while read -r f; do
    o=build/search/$(echo "$f" | tr / _).o
    gcc -std=gnu11 -O2 -g -fno-pie -fno-stack-protector -U_FORTIFY_SOURCE -fno-strict-aliasing \
        "$(test "$(uname -m)" = x86_64 && echo -mno-red-zone || echo -g)" -DDEBUG -I. \
        -DBUFFERS_HELD=2 -DOWNER_LISTS=4 -c "$f" -o "$o"
done <build/search/sources
gcc -no-pie -Wl,-z,now -o build/search/search build/search/*.o
