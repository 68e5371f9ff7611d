#!/bin/sh
# The debugger of an editor that speaks gdb's machine interface (.vscode/launch.json).
#
#   tools/gdb/editor.sh [OPTION OF GDB ...]                     gdb, by its name on this system
#   tools/gdb/editor.sh [OPTION OF GDB ...] E=name N=3 ...      the gdb of `make replay E=name N=3 ...`
#
# The standard output is gdb's alone: what is built is told on the standard error.
cd "$(dirname "$0")/../.." || exit 1
options= words=
quoted() { printf "'%s' " "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"; }
for word; do
    case $word in
    [A-Z]*=*) words="$words$(quoted "$word")" ;;
    *) options="$options$(quoted "$word")" ;;
    esac
done
make -s all build/native/drive_times_tool </dev/null >&2 || exit 1
if [ -n "$words" ]; then
    eval "exec make -s replay GDB_OPTIONS=$(quoted "$options") $words"
fi
eval "exec \"\$(sh tools/find_tool.sh gdb)\" -q $options"
