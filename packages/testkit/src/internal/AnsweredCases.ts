/** Receivers that answer, in various ways: the status decides, and a complete body is stored. */
import { type Behaviour, redirect, redirectToTrap, withStatus } from "./Behaviours.ts"
import { CHUNKED, HINTS, leadingTo, nothing, OK, type ReceiverCase, status } from "./ReceiverCases.ts"

const STATUSES = [
  [200, 201, 202, 206, 226, 299],
  [300, 301, 305, 399],
  [400, 401, 402, 403, 404, 405, 407, 408, 409, 410, 413, 418, 421, 422, 425, 429, 431, 451, 499],
  [500, 501, 502, 503, 504, 507, 511, 520, 599]
].flat()

export const answered: ReadonlyArray<ReceiverCase> = [
  STATUSES.flatMap((code) =>
    leadingTo(status(code, `status ${code}`), { [`/status/${code}`]: withStatus(code) })
  ),
  [204, 304].flatMap((code) => leadingTo(status(code, ""), { [`/status/${code}`]: withStatus(code) })),
  [600, 700, 999].flatMap((code) =>
    leadingTo(nothing("invalid_response"), { [`/status/${code}`]: withStatus(code) })
  ),
  [301, 302, 303, 307, 308].flatMap((code) =>
    leadingTo(status(code, "moved"), { [`/redirect/${code}`]: redirect(code, "/trap") })
  ),
  leadingTo(status(302, "moved"), {
    "/redirect-to-loopback": redirectToTrap(302),
    "/redirect-to-metadata": redirect(302, "http://169.254.169.254/latest/meta-data/")
  }),
  leadingTo(status(429, "slow down"), {
    "/too-many-requests": (a) => a.reply(429, "slow down", { "retry-after": "3600" })
  }),
  leadingTo(status(200, ""), {
    "/no-body": (a) => a.reply(200)
  }),
  leadingTo(status(200, "ok"), {
    "/chunked": (a) => a.raw(`${CHUNKED}1\r\no\r\n1\r\nk\r\n0\r\n\r\n`),
    "/trailers": (a) => a.raw(`${CHUNKED}2\r\nok\r\n0\r\nx-sum: 1\r\n\r\n`),
    "/until-close": (a) => a.raw(`${OK}\r\nok`).close(),
    "/http-1.0": (a) => a.raw("HTTP/1.0 200 OK\r\n\r\nok").close(),
    "/connection-close": (a) => a.reply(200, "ok", { connection: "close" }).close(),
    "/keep-alive-then-close": (a) => a.reply(200, "ok", { connection: "keep-alive" }).close(),
    "/keep-alive-then-reset": (a) => a.reply(200, "ok", { connection: "keep-alive" }).reset(),
    "/answered-twice": (a) => a.reply(200, "ok").reply(500, "no"),
    "/length-too-short": (a) => a.raw(`${OK}content-length: 2\r\n\r\nokay and more`),
    "/set-cookie": (a) => a.reply(200, "ok", { "set-cookie": "session=1; Path=/" }),
    "/codings-50": (a) => a.reply(200, "ok", { "content-encoding": Array(50).fill("gzip").join(", ") }),
    "/continue-unasked": (a) => a.raw("HTTP/1.1 100 Continue\r\n\r\n").reply(200, "ok"),
    "/interim-many": (a) => a.raw(HINTS.repeat(5000)).reply(200, "ok"),
    "/interim-in-pieces": inPieces(
      "HT",
      "TP/1.1 1",
      "00 Continue\r",
      "\n\r\nHTTP/1.1 102 Wait\r\n",
      "\r",
      "\n",
      OK,
      "\r\nok"
    )
  })
].flat()

/** One segment each, then the end. */
function inPieces(...pieces: ReadonlyArray<string>): Behaviour {
  return (a) => {
    const [first, ...rest] = pieces
    if (first === undefined) return a.close()
    a.raw(first)
    setTimeout(() => inPieces(...rest)(a), 5)
  }
}
