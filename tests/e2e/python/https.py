"""`python3 -m https ADDRESS`: answers every request with an empty 200, over TLS, with cert.pem and key.pem of the present folder."""

import http.server
import ssl
import sys


class Server(http.server.ThreadingHTTPServer):
    # Connections whose beginning is dropped stay: each is served by a thread.
    daemon_threads = True

    def finish_request(self, request, address):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain("cert.pem", "key.pem")
        with context.wrap_socket(request, server_side=True) as wrapped:
            super().finish_request(wrapped, address)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()


Server((sys.argv[1], 443), Handler).serve_forever()
