# Functions that fetch packages of a suite of Debian into a folder, for scripts that begin with
# `set -eu` (other_qemu.sh, other_compiler.sh, fetch_cbmc.sh).
#
# - Nothing is installed: programs come with their libraries, down to the C library, and run with
#   them by the loader that unpack_packages finds.
# - Packages come from where the system's own come from.

# Prepare a folder for packages of suites. Sets folder to its absolute path.
open_suite() { # FOLDER SUITE...
    . /etc/os-release
    rm -rf "$1/root" "$1/cache"
    mkdir -p "$1/root" "$1/lists/partial" "$1/cache/archives/partial"
    folder=$(cd "$1" && pwd)
    shift
    keys=/usr/share/keyrings/debian-archive-keyring.gpg
    mirror=$(apt-get indextargets --format '$(REPO_URI)' "Codename: $VERSION_CODENAME" | head -n 1)
    [ -n "$mirror" ] || { echo "${0##*/}: apt knows no mirror of $VERSION_CODENAME" >&2; exit 1; }
    for each in "$@"; do
        echo "deb [signed-by=$keys] $mirror $each main"
    done >"$folder/sources.list"
    : >"$folder/status"
    in_suite update
}

# Run apt-get as if no package were installed, so that all that a package depends on is fetched.
in_suite() { # COMMAND...
    apt-get -q -o Dir::Etc::SourceList="$folder/sources.list" -o Dir::Etc::SourceParts=- \
        -o Dir::State::Lists="$folder/lists" -o Dir::State::status="$folder/status" \
        -o Dir::Cache="$folder/cache" -o APT::Sandbox::User=root "$@" >&2
}

# Fetch packages, and all that they depend on, into $folder/cache/archives.
fetch_packages() { # [-t SUITE] PACKAGE...
    in_suite install --yes --download-only --no-install-recommends "$@"
}

# Unpack the packages that were fetched. Sets loader and path, the folders of their libraries.
unpack_packages() { # [PATTERN...]: names that are left out
    for deb in "$folder"/cache/archives/*.deb; do
        wanted=yes
        for pattern in "$@"; do
            case ${deb##*/} in $pattern) wanted= ;; esac
        done
        [ -z "$wanted" ] || dpkg -x "$deb" "$folder/root"
    done
    libc=$(find "$folder/root" -name libc.so.6 | head -n 1)
    libraries=${libc%/*} # named after the host's kind of processor
    loader=$(find "$folder/root" -name 'ld-linux*.so.*' | head -n 1)
    path=$libraries:$folder/root/usr/lib/${libraries##*/}
}
