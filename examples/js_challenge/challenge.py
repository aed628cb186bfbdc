#!/usr/bin/env python3
"""Checks cookies, and answers requests without a valid one: with a page that sets it, and by telling the filter what it is.

nginx asks for /check with each request's cookies and the client's address in X-Real-IP: 204 says that `__mh` is that client's.
Other requests it passes on to this server. The value for that client goes into the table `cookies` of the running filter through its
socket, before the page is sent. A client that comes again gets the same value, so that two visits at once do no harm.

usage: challenge.py PORT SOCKET        e.g. challenge.py 8081 /run/moonhook/filter.sock
"""

import collections
import http.server
import json
import secrets
import socket
import sys
import threading

PAGE = """<!doctype html>
<title>One moment</title>
<p>Checking your browser …</p>
<script>
document.cookie = "__mh={value}; path=/; SameSite=Lax";
location.reload();
</script>
"""


def store(path, client, value):
    """Sets cookies[client] = value in the filter."""
    request = {"version": 1, "request": "table", "table": "cookies", "operation": "set", "key": client, "value": value}
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(2)
        connection.connect(path)
        connection.sendall(json.dumps(request).encode() + b"\n")
        answer = json.loads(connection.makefile().readline())
    if "error" in answer:
        raise RuntimeError(answer["error"])


class Values:
    """The clients' values; the oldest are forgotten, as the filter forgets them."""

    MOST = 100000

    def __init__(self):
        self.lock = threading.Lock()
        self.values = collections.OrderedDict()

    def of(self, client):
        with self.lock:
            value = self.values.setdefault(client, secrets.token_hex(8))
            self.values.move_to_end(client)
            if len(self.values) > self.MOST:
                self.values.popitem(last=False)
            return value

    def are(self, client, value):
        with self.lock:
            return value is not None and self.values.get(client) == value


VALUES = Values()


def cookie(header):
    """The value of `__mh` among the cookies of a request, or None."""
    for part in (header or "").split(";"):
        name, _, value = part.strip().partition("=")
        if name == "__mh":
            return value
    return None


class Challenge(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        client = self.headers["X-Real-IP"]
        if self.path == "/check":
            known = VALUES.are(client, cookie(self.headers["Cookie"]))
            self.send_response(204 if known else 401)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        value = VALUES.of(client)
        store(sys.argv[2], client, value)
        page = PAGE.format(value=value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    do_POST = do_GET

    def log_message(self, *arguments):
        pass


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Challenge).serve_forever()
