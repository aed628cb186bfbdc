#!/usr/bin/env python3
"""got.py TCP UDP: servers at 192.0.3.1 and 2001:db8:3::1 that say what they have got. Each argument is a list of ports with commas between them."""

import socket
import sys
import threading


def answer(one):
    """One whose bytes never come holds up no other."""
    one.settimeout(10)
    with one:
        try:
            one.sendall(b"got " + one.recv(1000))
        except OSError:
            pass


def serve(family, address, port):
    listener = socket.create_server((address, port), family=family)
    while True:
        one, _ = listener.accept()
        threading.Thread(target=answer, args=(one,)).start()


def serve_datagrams(family, address, port):
    one = socket.socket(family, socket.SOCK_DGRAM)
    one.bind((address, port))
    while True:
        text, sender = one.recvfrom(1000)
        one.sendto(b"got " + text, sender)


def ports(text):
    return [int(port) for port in text.split(",") if port]


if __name__ == "__main__":
    for family, address in ((socket.AF_INET, "192.0.3.1"), (socket.AF_INET6, "2001:db8:3::1")):
        for target, text in ((serve, sys.argv[1]), (serve_datagrams, sys.argv[2])):
            for port in ports(text):
                threading.Thread(target=target, args=(family, address, port)).start()
    print("listening", flush=True)
