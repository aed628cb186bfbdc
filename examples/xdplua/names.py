#!/usr/bin/env python3
"""Puts names into the map of the filter by server names (sni.lua), or shows how often each was refused.

usage: names.py MAP [NAME…]        e.g. names.py /sys/fs/bpf/sni_maps/sni__refused ads.example
"""

import json
import struct
import subprocess
import sys

# A key of `string:64`: the length in 32 bits of the machine's order, and the bytes, with zeros behind them up to a multiple of 8.
ROOM = 64


def bpftool(*arguments):
    return subprocess.run(["bpftool", "-j", "map", *arguments], check=True, capture_output=True, text=True).stdout


def add(path, name):
    text = name.encode()
    if len(text) > ROOM:
        sys.exit(f"{name} is too long")
    key = struct.pack(f"=I{ROOM}s4x", len(text), text)
    bpftool("update", "pinned", path, "key", "hex", *key.hex(" ").split(), "value", "hex", *bytes(8).hex(" ").split())


def show(path):
    for entry in json.loads(bpftool("dump", "pinned", path)):
        key, value = (bytes(int(byte, 16) for byte in entry[part]) for part in ("key", "value"))
        (length,), (count,) = struct.unpack_from("=I", key), struct.unpack("=q", value)
        print(key[4 : 4 + length].decode(), count)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for name in sys.argv[2:]:
        add(sys.argv[1], name)
    if len(sys.argv) == 2:
        show(sys.argv[1])
