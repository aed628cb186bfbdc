#!/usr/bin/env python3
"""echo.py ADDRESS COUNT: sends echo requests (RFC 792, RFC 4443), each when the one before it was answered or half a second is over, and shows how many were."""

import os
import socket
import struct
import sys
import time


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def answered(sock, address, number, payload):
    name = os.getpid() & 0xFFFF
    is_4 = sock.family == socket.AF_INET
    # Of IPv6 the kernel computes the checksum, and what is received begins behind the IP header.
    asks, answers, begin = (8, 0, 20) if is_4 else (128, 129, 0)
    request = struct.pack("!BBHHH", asks, 0, 0, name, number) + payload
    if is_4:
        request = request[:2] + struct.pack("!H", checksum(request)) + request[4:]
    try:
        sock.sendto(request, (address, 0))
    except PermissionError:
        # A filter of this host has dropped it.
        return False
    deadline = time.monotonic() + 0.5
    while (left := deadline - time.monotonic()) > 0:
        sock.settimeout(left)
        try:
            reply = sock.recv(2048)[begin:]
        except TimeoutError:
            return False
        if reply[0] == answers and struct.unpack("!HH", reply[4:8]) == (name, number):
            return True
    return False


def main():
    address, count = sys.argv[1], int(sys.argv[2])
    family, protocol = (socket.AF_INET6, socket.IPPROTO_ICMPV6) if ":" in address else (socket.AF_INET, socket.IPPROTO_ICMP)
    with socket.socket(family, socket.SOCK_RAW, protocol) as sock:
        # Of different lengths, so that each can be told from the others.
        print(sum(answered(sock, address, number, b"x" * (20 + 2 * number)) for number in range(count)))


main()
