#!/usr/bin/env python3
"""Serves a page to clients that carry their cookie, and to others one whose script sets it.

The value for a client goes into the map `cookies` of the filter (challenge.lua) before the page is sent, by bpftool. A client that comes again
gets the same value, so that two visits at once do no harm.

usage: server.py PORT MAP        e.g. server.py 80 /sys/fs/bpf/challenge_maps/challenge__cookies
"""

import http.cookies
import http.server
import ipaddress
import secrets
import struct
import subprocess
import sys
import threading

PAGE = """<!doctype html>
<title>One moment</title>
<p>Checking your browser …</p>
<script>
document.cookie = "__xdp={value}; path=/; SameSite=Lax";
location.reload();
</script>
"""


def store(path, client, value):
    """cookies[client] = value: both are integers of 64 bits in the machine's order."""
    number = int(ipaddress.IPv4Address(client))
    key, entry = (struct.pack("=q", word).hex(" ").split() for word in (number, value))
    command = ["bpftool", "map", "update", "pinned", path, "key", "hex", *key, "value", "hex", *entry]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


class Values:
    """The clients' values."""

    def __init__(self):
        self.lock = threading.Lock()
        self.values = {}

    def of(self, client):
        with self.lock:
            return self.values.setdefault(client, secrets.randbelow(1 << 31))


VALUES = Values()


class Challenge(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        client = self.client_address[0]
        value = VALUES.of(client)
        given = http.cookies.SimpleCookie(self.headers["Cookie"] or "").get("__xdp")
        if given and given.value == str(value):
            page = "<!doctype html><title>Welcome</title><p>Inside\n"
        else:
            store(sys.argv[2], client, value)
            page = PAGE.format(value=value)
        body = page.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    http.server.ThreadingHTTPServer(("", int(sys.argv[1])), Challenge).serve_forever()
