"""The service of luhn_http: python3 service.py [PORT]"""
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from luhn import luhn


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        values = [luhn(row["number"]) for row in request["rows"]]
        answer = json.dumps({"values": values}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 8099), Handler)
print("listening on http://%s:%d" % server.server_address, flush=True)
server.serve_forever()
