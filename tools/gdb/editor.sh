#!/bin/sh
# The debugger of an editor that speaks gdb's machine interface (.vscode/launch.json).
#
#   tools/gdb/editor.sh [WORD OF GDB ...]                  gdb, by its name on this system
#   tools/gdb/editor.sh [WORD OF GDB ...] debug WORD ...   the gdb of `sluice debug WORD ...`
#
# The standard output is gdb's alone: what is built is told on the standard error.
cd "$(dirname "$0")/../.." || exit 1
options= words=
quoted() { printf "'%s' " "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"; }
for word; do
    case $words,$word in
    ,debug) words="debug " ;;
    ,*) options="$options$(quoted "$word")" ;;
    *) words="$words$(quoted "$word")" ;;
    esac
done
make -s all build/native/drive_times_tool </dev/null >&2 || exit 1
if [ -n "$words" ]; then
    eval "exec bin/sluice $words --gdb-options=$(quoted "$options")"
fi
eval "exec \"\$(sh tools/find_tool.sh gdb)\" -q $options"
