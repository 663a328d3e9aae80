# A first verified delivery: registers an endpoint here, publishes an event, and verifies what arrives.
import os
from http.server import BaseHTTPRequestHandler, HTTPServer

from posthorn import Posthorn, verify

secret = ""


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        verified = verify(secrets=secret, headers=self.headers, body=body)
        self.send_response(204)
        self.end_headers()
        print(f"verified {verified.id}: {body.decode()}")

    def log_message(self, *_: object) -> None:
        pass


receiver = HTTPServer(("127.0.0.1", 0), Receiver)

with Posthorn(
    url=os.environ["POSTHORN_URL"],
    token=os.environ["POSTHORN_TOKEN"],
    workspace=os.environ["POSTHORN_WORKSPACE"],
) as posthorn:
    endpoint = posthorn.create_webhook_endpoint(
        url=f"http://127.0.0.1:{receiver.server_port}/", event_types=["first.python"], reveal_secret=True
    )
    secret = endpoint["signingSecret"]
    posthorn.publish_event(event_type="first.python", payload={"hello": "world"})

receiver.handle_request()
