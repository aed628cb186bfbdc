"""What the end-to-end scripts' Python has in common: sockets of servers, and IPv4 packets from addresses that are not the sender's."""

import socket
import struct


def servers(addresses, ports):
    """Sockets for TCP, which listen, and UDP at each address (of either family) and port, in that order; says so on standard output."""
    sockets = []
    for address in addresses:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        for port in ports:
            for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
                one = socket.socket(family, kind)
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                one.bind((address, port))
                if kind == socket.SOCK_STREAM:
                    one.listen()
                sockets.append(one)
    print("listening", flush=True)
    return sockets


def checksum(data):
    """RFC 1071; of an even number of bytes."""
    words = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while words >> 16:
        words = (words & 0xFFFF) + (words >> 16)
    return ~words & 0xFFFF


def raw_socket():
    """Sends packets with their IPv4 headers, whose checksum the kernel fills in."""
    return socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)


def ipv4(protocol, source, target, segment):
    """The packet with that segment between two addresses."""
    addresses = socket.inet_aton(source) + socket.inet_aton(target)
    return struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(segment), 0, 0, 64, protocol, 0) + addresses + segment
