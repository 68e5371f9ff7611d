#!/bin/sh
# What Gradescope runs once, as root, to make the image that grades: installs
# the tools and builds the tree, so that grading needs no network. Then nobody
# but root may read it: what is handed in is compiled as somebody else.
# It needs Python 3.11, so a base image of Ubuntu 24.04, or Debian 12.
set -eu
cd "$(dirname "$0")/sluice"
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
apt-get install -y --no-install-recommends make python3 python3-venv
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "setup: $(python3 -V) is too old: choose an image with 3.11 or later"
    exit 1
}
sh tools/setup.sh grade
make all build/native/drive_times_tool build/native/places_tool
chmod -R go-rwx ..
