#!/usr/bin/env python3
"""Answers requests without a valid cookie: with a page that sets it, and by telling the filter what it is.

nginx passes requests without the cookie `__mh` on to this server, with the client's address in X-Real-IP. The value for that
client goes into the table `cookies` of the running filter through its socket, before the page is sent.

usage: challenge.py PORT SOCKET        e.g. challenge.py 8081 /run/moonhook/filter.sock
"""

import http.server
import json
import secrets
import socket
import sys

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


class Challenge(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        value = secrets.token_hex(8)
        store(sys.argv[2], self.headers["X-Real-IP"], value)
        page = PAGE.format(value=value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *arguments):
        pass


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Challenge).serve_forever()
