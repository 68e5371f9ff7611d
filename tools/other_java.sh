#!/bin/sh
# Fetches the Java of another suite of Debian, unpacks it into a folder and prints the name of
# its program java:
#   $(tools/other_java.sh build/java trixie 25) -version
#
# debian_suite.sh fetches the packages; nothing is installed.
set -eu
[ $# = 3 ] || { echo "usage: other_java.sh FOLDER SUITE VERSION" >&2; exit 2; }
. "$(dirname "$0")/debian_suite.sh"
rm -rf "$1/bin"
mkdir -p "$1/bin"
open_suite "$1" "$2"
fetch_packages "openjdk-$3-jre-headless"
unpack_packages
home=$(echo "$folder/root/usr/lib/jvm/java-$3-openjdk"-*)
# Its settings are links to /etc, where this system has another Java's or none.
find "$home" -type l | while read -r link; do
    to=$(readlink "$link")
    case $to in /etc/*) ln -sfn "$folder/root$to" "$link" ;; esac
done
cat >"$folder/bin/java" <<END
#!/bin/sh
exec '$loader' --library-path '$path' '$home/bin/java' "\$@"
END
chmod +x "$folder/bin/java"
"$folder/bin/java" -version >&2
echo "$folder/bin/java"
