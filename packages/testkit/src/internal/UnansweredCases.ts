/** Receivers that give no status: too late, cut off, or nonsense. */
import { HINTS, leadingTo, nothing, OK, type ReceiverCase } from "./ReceiverCases.ts"

export const unanswered: ReadonlyArray<ReceiverCase> = [
  leadingTo(
    nothing("request_timeout"),
    {
      "/hang": () => undefined,
      "/head-drip": (a) => a.raw(OK).drip(50, "x"),
      "/interim-then-hang": (a) => a.raw(HINTS),
      "/interim-drip": (a) => a.drip(50, HINTS)
    },
    "request deadline"
  ),
  leadingTo(nothing("connection_failed", "closed_early"), { "/empty-reply": (a) => a.close() }),
  leadingTo(nothing("connection_failed", "reset"), {
    "/reset-before-headers": (a) => a.reset()
  }),
  leadingTo(nothing("invalid_response"), {
    "/interim-endless": (a) => a.flood(HINTS.repeat(100)),
    "/interim-head-endless": (a) => a.raw("HTTP/1.1 103 Hints\r\n").flood("x: y\r\n".repeat(1000)),
    "/interim-then-close": (a) => a.raw(HINTS).close(),
    "/upgrade-unasked": (a) => a.raw("HTTP/1.1 101 Up\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n"),
    "/upgrade-bare": (a) => a.raw("HTTP/1.1 101 Up\r\n\r\n"),
    "/reason-endless": (a) => a.raw("HTTP/1.1 200 ").flood("x".repeat(65536)),
    "/headers-1mb": (a) => a.raw(`${OK}${`x: ${"y".repeat(1000)}\r\n`.repeat(1000)}\r\n`),
    "/header-1mb": (a) => a.raw(`${OK}x: ${"y".repeat(1_000_000)}\r\n\r\n`),
    "/two-lengths": (a) => a.raw(`${OK}content-length: 1\r\ncontent-length: 2\r\n\r\nok`),
    "/invalid-http": (a) => a.raw("SSH-2.0-OpenSSH_9.6\r\n").close(),
    "/http-2": (a) => a.raw(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0])).close(),
    "/status-1000": (a) => a.raw("HTTP/1.1 1000 No\r\n\r\n").close(),
    "/status-word": (a) => a.raw("HTTP/1.1 two OK\r\n\r\n").close(),
    "/half-head": (a) => a.raw("HTTP/1.1 200 OK\r\ncontent-le").close(),
    "/half-head-reset": (a) => a.raw("HTTP/1.1 200 OK\r\ncontent-le").reset(),
    "/few-bytes": (a) => a.raw("HTTP/1").close()
  })
].flat()
