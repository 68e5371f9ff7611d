#!/bin/sh
# libnfs 4.0.0 (Debian 12): nobody compares the verifier of COMMIT, so lost writes are reported done.
#
# - Read: NFS 3 lets a server answer a WRITE before the data are stable (UNSTABLE). The client then
#   sends COMMIT, and must write again if the verifier in its answer is not that of the WRITEs: the
#   server has started anew between them (RFC 1813, 3.3.21).
# - Behaviour: nfs_fsync and nfs_close send COMMIT and look at its status only. nfs-cp does not
#   even look at what nfs_close returned.
# - Seen: a server whose verifier changes between WRITE and COMMIT: nfs_fsync and nfs_close return
#   0, nfs-cp says "copied 30000 bytes" and exits with 0, and its 4 WRITEs are not sent again. A
#   server that answers COMMIT with NFS3ERR_IO: nfs_fsync and nfs_close return -5, and nfs-cp says
#   that it copied, and exits with 0.
# - What follows: what a program wrote by libnfs while the server crashed may be gone, and the
#   program cannot know. Use a server that answers FILE_SYNC, or read the file back. As a judge of
#   a server's verifier libnfs cannot fail.
#
# Unpacks Debian packages in a temporary folder; fails if the behaviour changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -q -o APT::Sandbox::User=root download libnfs13=4.0.0-1 libnfs-utils=4.0.0-1 >/dev/null
for package in *.deb; do dpkg -x "$package" root; done
cat >server.py <<'END'
"""A server of NFS 3 by TCP that keeps nothing: a root directory, and one file, whose size it counts."""

import socketserver
import struct
import sys
import threading

HOW = sys.argv[1]  # how COMMIT is answered: well, error or verifier
OK, NOENT, IO = 0, 2, 5
ROOT, FILE = b"root", b"file"
size, calls = None, []


def word(*values: int) -> bytes:
    """Return 32-bit words."""
    return struct.pack(f">{len(values)}I", *values)


def opaque(data: bytes) -> bytes:
    """Return a string of variable length with its length and its padding."""
    return word(len(data)) + data + bytes(-len(data) % 4)


def read_opaque(args: bytes, at: int) -> tuple[bytes, int]:
    """Return a string of variable length, and where the next argument begins."""
    (length,) = struct.unpack_from(">I", args, at)
    return args[at + 4 : at + 4 + length], at + 4 + length + -length % 4


def attributes(handle: bytes) -> bytes:
    """Return the 21 words of fattr3."""
    kind, length = (2, 4096) if handle == ROOT else (1, size or 0)
    number = 1 if handle == ROOT else 2
    head = word(kind, 0o777, 1, 0, 0) + struct.pack(">QQ", length, length)
    return head + word(0, 0) + struct.pack(">QQ", 1, number) + word(1, 0, 1, 0, 1, 0)


def some(handle: bytes) -> bytes:
    """Return attributes that are there."""
    return word(1) + attributes(handle)


def answer(program: int, procedure: int, args: bytes) -> bytes:
    """Return the results of a call."""
    global size
    if program == 100005:
        return {1: word(OK) + opaque(ROOT) + word(1, 0), 5: word(1) + opaque(b"/x") + word(0, 0)}.get(procedure, b"")
    if procedure == 0:
        return b""
    handle, at = read_opaque(args, 0)
    calls.append(procedure)
    if procedure == 1:  # GETATTR
        return word(OK) + attributes(handle)
    if procedure == 2:  # SETATTR
        return word(OK, 0) + some(handle)
    if procedure == 3:  # LOOKUP
        return word(NOENT) + some(ROOT) if size is None else word(OK) + opaque(FILE) + some(FILE) + some(ROOT)
    if procedure == 4:  # ACCESS
        return word(OK) + some(handle) + word(0x3F)
    if procedure == 7:  # WRITE: UNSTABLE, with the verifier 1
        offset, count = struct.unpack_from(">QI", args, at)
        size = max(size or 0, offset + count)
        return word(OK, 0) + some(FILE) + word(count, 0) + struct.pack(">Q", 1)
    if procedure == 8:  # CREATE
        size = 0
        return word(OK, 1) + opaque(FILE) + some(FILE) + word(0) + some(ROOT)
    if procedure == 19:  # FSINFO
        sizes = word(8192, 8192, 1, 8192, 8192, 1, 4096)
        return word(OK) + some(handle) + sizes + struct.pack(">Q", 1 << 40) + word(0, 1, 0x1B)
    if procedure == 20:  # PATHCONF
        return word(OK) + some(handle) + word(1, 255, 1, 1, 0, 1)
    if procedure == 21:  # COMMIT
        verifier = struct.pack(">Q", 2 if HOW == "verifier" else 1)
        return word(IO, 0) + some(FILE) if HOW == "error" else word(OK, 0) + some(FILE) + verifier
    raise SystemExit(f"procedure {procedure} is not served")


class Connection(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        while head := self.rfile.read(4):
            call = self.rfile.read(struct.unpack(">I", head)[0] & 0x7FFFFFFF)
            xid, _, _, program, _, procedure = struct.unpack_from(">6I", call)
            _, at = read_opaque(call, 28)
            _, at = read_opaque(call, at + 4)
            reply = word(xid, 1, 0, 0, 0, 0) + answer(program, procedure, call[at:])
            self.wfile.write(word(0x80000000 | len(reply)) + reply)


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of a client that has ended without reading all."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


with Server(("127.0.0.1", 0), Connection) as server:
    print(server.server_address[1], flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()
    print("WRITEs", calls.count(7), "COMMITs", calls.count(21), flush=True)
END
cat >try.py <<'END'
import ctypes
import glob
import subprocess
import sys

BIN = glob.glob("root/usr/bin/nfs-cp")[0]
LIB = glob.glob("root/usr/lib/*/libnfs.so.13")[0]
lib = ctypes.CDLL(LIB)
lib.nfs_init_context.restype = ctypes.c_void_p
lib.nfs_parse_url_full.restype = ctypes.c_void_p
EXPECTED = {
    "well": ("copied", 0, 0, 0),
    "error": ("copied", 0, -5, -5),
    "verifier": ("copied", 0, 0, 0),
}
with open("data", "wb") as file:
    file.write(b"s" * 30000)


def serve(how: str) -> tuple[subprocess.Popen, str]:
    """Start a server. Returns it, and the ports as libnfs wants them in an address."""
    process = subprocess.Popen([sys.executable, "server.py", how], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    port = process.stdout.readline().strip()
    return process, f"nfsport={port}&mountport={port}"


def stop(process: subprocess.Popen) -> str:
    """End a server. Returns what it counted."""
    return process.communicate(timeout=20)[0].strip()


for how, expected in EXPECTED.items():
    server, ports = serve(how)
    copy = subprocess.run([BIN, "data", f"nfs://127.0.0.1/x/file?{ports}"], capture_output=True, text=True,
                          timeout=30, env={"LD_LIBRARY_PATH": LIB.rpartition("/")[0]})
    count = stop(server)
    results = []
    for call in ("nfs_fsync", "nfs_close"):
        server, ports = serve(how)
        context = ctypes.c_void_p(lib.nfs_init_context())
        lib.nfs_parse_url_full(context, f"nfs://127.0.0.1/x/file?{ports}".encode())
        assert lib.nfs_mount(context, b"127.0.0.1", b"/x") == 0
        handle = ctypes.c_void_p()
        assert lib.nfs_creat(context, b"/file", 0o644, ctypes.byref(handle)) == 0
        assert lib.nfs_write(context, handle, ctypes.c_uint64(30000), b"s" * 30000) > 0
        results.append(getattr(lib, call)(context, handle))
        stop(server)
    said = "copied" if copy.stdout.startswith("copied 30000 bytes") else copy.stdout + copy.stderr
    seen = (said, copy.returncode, *results)
    print(f"COMMIT answers {how}: nfs-cp: {said}, exit {copy.returncode}; {count}; "
          f"nfs_fsync {results[0]}, nfs_close {results[1]}")
    if seen != expected:
        raise SystemExit(f"the behaviour has changed: expected {expected}")
END
python3 try.py
