"""A mail server on 127.0.0.1 that keeps nothing: each message it accepts is a line of JSON on standard output.

Recipients decide: `refused@` is 550, `later@` is 451, `unwanted@` is refused after its message. A login is wanted where a password is
given; it is offered over TLS alone.
"""
import asyncio
import json
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult

port, certificate, key, password = int(sys.argv[1]), *sys.argv[2:5]


class Handler:
    async def handle_RCPT(self, server, session, envelope, address, options):
        name = address.split("@")[0]
        if name == "refused":
            return "550 5.1.1 No such person; the secret is geheim"
        if name == "later":
            return "451 4.3.0 Try again later"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        if envelope.rcpt_tos[0].startswith("unwanted@"):
            return "554 5.7.1 Not wanted"
        print(
            json.dumps(
                {
                    "from": envelope.mail_from,
                    "to": envelope.rcpt_tos,
                    "secure": session.ssl is not None,
                    "login": session.auth_data.decode() if session.authenticated else None,
                    "message": envelope.content.decode("latin-1"),
                }
            ),
            flush=True,
        )
        return "250 OK"


def authenticate(server, session, envelope, mechanism, data):
    return AuthResult(success=data.password == password.encode(), auth_data=data.login, handled=False, message=None)


async def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    def make():
        return SMTP(
            Handler(),
            hostname="mail.zoo.test",
            tls_context=context,
            require_starttls=password != "",
            auth_required=password != "",
            authenticator=authenticate if password else None,
        )

    server = await asyncio.get_running_loop().create_server(make, "127.0.0.1", port)
    print("listening", flush=True)
    # Ends with whoever started it.
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    server.close()


asyncio.run(main())
