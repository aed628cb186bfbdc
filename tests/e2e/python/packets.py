"""What the end-to-end scripts' Python has in common: sockets of servers, and IPv4 packets from addresses that are not the sender's."""

import os
import select
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


def reverse(sockets):
    """Answers, for ever, with what comes in, backwards: a datagram each, or all that a connection has sent."""
    while True:
        for one in select.select(sockets, [], [])[0]:
            if one.type == socket.SOCK_DGRAM:
                data, peer = one.recvfrom(65536)
                one.sendto(data[::-1], peer)
            else:
                connection, _ = one.accept()
                with connection:
                    connection.sendall(received(connection)[::-1])


def received(connection):
    """All that comes until the other side is done."""
    data = b""
    while part := connection.recv(65536):
        data += part
    return data


def ask(addresses, port, patience, lengths=(1, 101, 300000)):
    """Asks servers that answer backwards, by UDP and TCP, with messages of many lengths; an AssertionError where one does not."""
    for address in addresses:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        for length in (1, 2, 3, 100, 1201):
            data = os.urandom(length)
            with socket.socket(family, socket.SOCK_DGRAM) as one:
                one.settimeout(patience)
                one.connect((address, port))
                one.send(data)
                assert one.recv(65536) == data[::-1], (address, length)
        for length in lengths:
            data = os.urandom(length)
            with socket.create_connection((address, port), timeout=patience) as one:
                one.sendall(data)
                one.shutdown(socket.SHUT_WR)
                assert received(one) == data[::-1], (address, length)


def checksum_errors():
    """What this namespace has counted of wrong checksums."""
    total = 0
    with open("/proc/net/snmp") as lines:
        for names, numbers in zip(lines, lines):
            pairs = zip(names.split(), numbers.split())
            total += sum(int(number) for name, number in pairs if "Csum" in name or "InErrs" in name)
    with open("/proc/net/snmp6") as lines:
        for name, number in map(str.split, lines):
            total += int(number) if "CsumErrors" in name or "InErrs" in name else 0
    return total


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
