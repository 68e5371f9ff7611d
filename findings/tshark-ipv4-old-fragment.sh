#!/bin/sh
# tshark 4.0.17 (Debian 12): a datagram of today is completed by a fragment that is an hour old.
#
# - Read: an IPv4 identification has 16 bits, so it comes again after 65,536 datagrams. A receiver
#   gives up a datagram whose fragments do not come: after at least 60 seconds by RFC 1122
#   (3.3.2), after 30 in Linux.
# - Behaviour: tshark's reassembly waits for ever. When the identification comes again between the
#   same two hosts, the old fragment and a new one are put together. The new datagram's own other
#   fragment is left over, and then waits for the next.
# - Seen: a UDP datagram of 2,000 bytes "a" that loses its second fragment, and 3,600 s later one of
#   2,000 bytes "b" with the same identification, which is whole. In the frame of the new one's
#   second fragment tshark shows the datagram: 1,472 bytes "a" and 528 bytes "b".
# - What follows: in a long capture of a protocol by UDP with fragments (NFS with 8 KiB blocks) in
#   which frames are lost, a request or a reply is shown with the contents of another one, under
#   the time of the new one, and no warning. Ask for `-o udp.check_checksum:TRUE`, which is off by
#   default and calls the mixture wrong, or split a capture before an identification comes again.
#
# Unpacks Debian packages in a temporary folder; fails if the behaviour changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get install -s --no-install-recommends tshark=4.0.17-0+deb12u3 |
    sed -n 's/^Inst \([^ ]*\) (\([^ ]*\) .*/\1=\2/p' |
    xargs apt-get -q -o APT::Sandbox::User=root download >/dev/null
for package in *.deb; do dpkg -x "$package" root; done
LD_LIBRARY_PATH=$(echo root/usr/lib/*-linux-gnu)
export LD_LIBRARY_PATH
python3 - <<'END'
import struct


def checksum(data: bytes) -> int:
    """Return the internet checksum."""
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def frames(letter: bytes) -> list[bytes]:
    """Return the two Ethernet frames of a UDP datagram of 2,000 bytes."""
    addresses = bytes([192, 0, 2, 1, 192, 0, 2, 2])
    datagram = struct.pack(">HHHH", 5000, 5001, 2008, 0) + letter * 2000
    pseudo = addresses + struct.pack(">HH", 17, 2008)
    datagram = datagram[:6] + struct.pack(">H", checksum(pseudo + datagram)) + datagram[8:]
    made = []
    for at, more in ((0, 0x2000), (1480, 0)):
        part = datagram[at : at + 1480]
        head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(part), 7, more | at // 8, 64, 17, 0) + addresses
        head = head[:10] + struct.pack(">H", checksum(head)) + head[12:]
        made.append(bytes(11) + b"\1" + b"\x08\x00" + head + part)
    return made


old, new = frames(b"a"), frames(b"b")
with open("capture.pcap", "wb") as file:
    file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
    for second, frame in ((1, old[0]), (3601, new[0]), (3602, new[1])):
        file.write(struct.pack("<IIII", second, 0, len(frame), len(frame)) + frame)
END
root/usr/bin/tshark -r capture.pcap -o udp.check_checksum:TRUE -T fields -e frame.number \
    -e udp.checksum.status -e data.data -Y ip.reassembled.length 2>errors |
    awk -F '\t' '{ print "frame", $1, "has", gsub(/61/, "", $3), "a and", gsub(/62/, "", $3), "b, checksum", $2 }' |
    tee shown
echo 'frame 3 has 1472 a and 528 b, checksum 0' | cmp - shown
echo 'as stated: one datagram of two, whose checksum is wrong (0)'
