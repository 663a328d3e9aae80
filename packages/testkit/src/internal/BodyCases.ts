/** Receivers with a status and a body that is too long, unreadable or incomplete: the status still decides. */
import { gzipSync } from "node:zlib"
import { CHUNKED, leadingTo, OK, type ReceiverCase, status } from "./ReceiverCases.ts"

const LIMIT = 2048
const FULL = "x".repeat(LIMIT)
/** Ten mebibytes of zeros, in a few kilobytes whose first bytes no text decoder likes. */
const BOMB = gzipSync(Buffer.alloc(10 * 1024 * 1024))
/** Only the bomb's compressed prefix is stored: nothing unpacks it. */
const BOMB_AS_TEXT = new TextDecoder("utf-8", { ignoreBOM: true }).decode(BOMB.subarray(0, LIMIT))

export const bodies: ReadonlyArray<ReceiverCase> = [
  leadingTo(status(200, FULL), {
    "/body-2048": (a) => a.reply(200, FULL),
    "/body-2049": (a) => a.reply(200, `${FULL}x`),
    "/limit-then-hang": (a) => a.raw(`${OK}\r\n${FULL}`),
    "/endless": (a) => a.raw(`${OK}\r\n`).flood("x".repeat(65536)),
    "/endless-chunks": (a) => a.raw(CHUNKED).flood("1\r\nx\r\n".repeat(1000))
  }),
  leadingTo(status(200, "x".repeat(LIMIT - 1)), {
    "/body-torn": (a) => a.reply(200, `${"x".repeat(LIMIT - 1)}€`)
  }),
  leadingTo(status(200, "\uFFFD".repeat(682)), {
    "/body-ff": (a) => a.reply(200, Buffer.alloc(LIMIT, 0xff))
  }),
  leadingTo(status(200, "a\uFFFD(b\uFFFDc"), {
    "/body-invalid": (a) => a.reply(200, Buffer.from("a\xC3(b\0c", "latin1"))
  }),
  leadingTo(status(200, "a\uFFFDb"), {
    "/body-nul": (a) => a.reply(200, "a\0b")
  }),
  leadingTo(status(200, "\x1b[31mred"), {
    "/body-ansi": (a) => a.reply(200, "\x1b[31mred")
  }),
  leadingTo(status(200, "<script>1</script>"), {
    "/body-html": (a) => a.reply(200, "<script>1</script>")
  }),
  leadingTo(status(200, stored(BOMB_AS_TEXT)), {
    "/gzip-bomb": (a) => a.reply(200, BOMB, { "content-encoding": "gzip" })
  }),
  leadingTo(status(200, "not gzip"), {
    "/gzip-corrupt": (a) => a.reply(200, "not gzip", { "content-encoding": "gzip" })
  }),
  leadingTo(
    status(200, null),
    {
      "/headers-then-hang": (a) => a.raw(`${OK}content-length: 5\r\n\r\n`),
      "/part-then-hang": (a) => a.raw(`${OK}content-length: 5\r\n\r\nab`),
      "/drip": (a) => a.raw(`${OK}\r\n`).drip(50, "x"),
      "/chunk-extension-drip": (a) => a.raw(`${CHUNKED}1;`).drip(50, "x")
    },
    "body deadline"
  ),
  leadingTo(status(200, null), {
    "/chunk-extension-endless": (a) => a.raw(`${CHUNKED}1;`).flood("x".repeat(65536)),
    "/trailers-endless": (a) => a.raw(`${CHUNKED}0\r\n`).flood("x: y\r\n".repeat(1000)),
    "/length-too-long": (a) => a.raw(`${OK}content-length: 99\r\n\r\nok`).close(),
    "/chunk-truncated": (a) => a.raw(`${CHUNKED}ff\r\nok`).close(),
    "/chunk-nonsense": (a) => a.raw(`${CHUNKED}zz\r\nok\r\n`),
    "/reset-after-headers": (a) => a.raw(`${OK}content-length: 5\r\n\r\n`).reset(),
    "/reset-in-body": (a) => a.raw(`${OK}\r\npart of it`).reset()
  }),
  leadingTo(
    status(500, null),
    { "/failure-drip": (a) => a.raw("HTTP/1.1 500 No\r\n\r\n").drip(50, "x") },
    "body deadline"
  ),
  leadingTo(status(503, null), {
    "/failure-cut-short": (a) => a.raw("HTTP/1.1 503 No\r\ncontent-length: 9\r\n\r\n").close()
  })
].flat()

/** Without NUL, and cut between two characters so that it fits. */
function stored(text: string): string {
  const characters = [...text.replaceAll("\0", "\uFFFD")]
  while (Buffer.byteLength(characters.join("")) > LIMIT) characters.pop()
  return characters.join("")
}
