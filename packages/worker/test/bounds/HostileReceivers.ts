/**
 * Every part of a receiver's or token server's answer at its worst: status line, headers, interim answers, body, trailers, chunks,
 * speed, redirects, the TLS handshake, and the request's own secrets, repeated in each encoding.
 */
import type { Server } from "node:net"
import { createServer as createTcpServer, type Socket } from "node:net"
import { createServer as createTlsServer, type TlsOptions } from "node:tls"
import { type Certificate, certificate } from "@posthorn/testkit/Certificates"
import { Effect } from "effect"

export interface Hostile {
  readonly name: string
  /** The members of `request`; `url` is the receiver's. */
  readonly request?: (url: string) => unknown
  readonly tls?: TlsOptions & { readonly certificate: Certificate }
  /** What is written for each request, and whether the connection then ends. */
  readonly answer: (socket: Socket) => void
}

const OK = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"
const MIB = 1024 * 1024

const write = (text: string) => (socket: Socket) => void socket.write(text, "latin1")
const withBody = (body: string, headers = "", status = "500 No") =>
  write(`HTTP/1.1 ${status}\r\n${headers}content-length: ${Buffer.byteLength(body, "latin1")}\r\n\r\n${body}`)

/** A byte every 20 ms. */
const drip = (text: string) => (socket: Socket) => {
  let n = 0
  const timer = setInterval(() => {
    if (socket.destroyed || n === text.length) clearInterval(timer)
    else socket.write(text[n++]!)
  }, 20)
}

const parts: ReadonlyArray<Hostile> = [
  {
    name: "a reason of 60 KiB",
    answer: write(`HTTP/1.1 500 ${"x".repeat(60_000)}\r\ncontent-length: 0\r\n\r\n`)
  },
  { name: "10,000 headers", answer: withBody("", "a: b\r\n".repeat(10_000)) },
  { name: "a header of 60 KiB", answer: withBody("", `location: ${"é".repeat(60_000)}\r\n`) },
  {
    name: "kept headers 3,000 times",
    answer: withBody("", 'server: \x01\x02"\\\r\n'.replace("\x01\x02", "").repeat(3_000))
  },
  { name: "1 MiB of interim answers", answer: write("HTTP/1.1 100 Continue\r\n\r\n".repeat(MIB / 25) + OK) },
  {
    name: "an interim answer without end",
    answer: write(`HTTP/1.1 103 Early Hints\r\n${"a: b\r\n".repeat(100_000)}`)
  },
  { name: "a body of 1 MiB", answer: withBody("x".repeat(MIB)) },
  { name: "a body of NUL and quotes", answer: withBody(`\0"\\\xff`.repeat(512)) },
  {
    name: "chunks of one byte",
    answer: write(
      `HTTP/1.1 500 No\r\ntransfer-encoding: chunked\r\n\r\n${"1\r\nx\r\n".repeat(100_000)}0\r\n\r\n`
    )
  },
  {
    name: "chunk extensions of 1 MiB",
    answer: write(
      `HTTP/1.1 500 No\r\ntransfer-encoding: chunked\r\n\r\n1;${"a=b;".repeat(MIB / 4)}\r\nx\r\n0\r\n\r\n`
    )
  },
  {
    name: "10,000 trailers",
    answer: write(
      `HTTP/1.1 500 No\r\ntransfer-encoding: chunked\r\n\r\n0\r\n${"a: b\r\n".repeat(10_000)}\r\n`
    )
  },
  { name: "a head byte by byte", answer: drip(OK) },
  {
    name: "a body byte by byte",
    answer: (socket) => drip("HTTP/1.1 500 No\r\ncontent-length: 900\r\n\r\n".padEnd(900, "x"))(socket)
  },
  { name: "no answer", answer: () => undefined },
  {
    name: "a redirect inward",
    answer: withBody("", `location: http://169.254.169.254/${"x".repeat(8_000)}\r\n`, "307 Go")
  },
  { name: "a far Retry-After", answer: withBody("", `retry-after: ${"9".repeat(300)}\r\n`, "429 Later") },
  { name: "an end of the connection each time", answer: (socket) => void socket.destroy() }
]

const ENCODINGS: Readonly<Record<string, (text: string) => string>> = {
  plain: (text) => text,
  base64: (text) => Buffer.from(text).toString("base64"),
  hex: (text) => Buffer.from(text).toString("hex"),
  "URL-escaped": (text) => Buffer.from(text).toString("hex").replace(/../g, "%$&"),
  "HTML-escaped": (text) => text.replace(/./g, (one) => `&#${one.charCodeAt(0)};`)
}

/** Twenty secrets that begin alike, of which the answer has nearly one, or one many times. */
const repeated = (length: number): ReadonlyArray<Hostile> =>
  Object.entries(ENCODINGS).map(([encoding, encode]) => {
    const secretOf = (n: number) => `${"a".repeat(length - 2)}${String(n).padStart(2, "b")}`
    const text = encode(length > 1_000 ? `${"a".repeat(2_047)}c` : secretOf(1).repeat(300)).slice(0, 2_048)
    const value = text.slice(0, 256)
    return {
      name: `secrets of ${length}, ${encoding}`,
      request: () => ({
        headers: Array.from({ length: 20 }, (_, n) => ({ name: `x-${n}`, value: secretOf(n), secret: true })),
        authentication: { kind: "bearer", token: secretOf(21) }
      }),
      answer: withBody(text, `location: ${value}\r\nwww-authenticate: ${value}\r\nserver: ${value}\r\n`)
    }
  })

const handshakes: ReadonlyArray<Hostile> = [
  {
    name: "TLS with DHE",
    tls: { certificate: "rsa", maxVersion: "TLSv1.2", ciphers: "DHE-RSA-AES256-GCM-SHA384", dhparam: "auto" },
    answer: write(OK)
  },
  { name: "TLS with a certificate of 18 KiB", tls: { certificate: "large" }, answer: write(OK) },
  { name: "TLS of an authority that nobody knows", tls: { certificate: "other-ca" }, answer: write(OK) },
  {
    name: "TLS, a new connection each time",
    tls: { certificate: "rsa", ticketKeys: Buffer.alloc(48) },
    answer: (socket) => void socket.end("HTTP/1.1 500 No\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
  },
  {
    name: "TLS that never ends its handshake",
    tls: { certificate: "valid", handshakeTimeout: 60_000, pskCallback: () => null },
    answer: () => undefined
  }
]

const tokens: ReadonlyArray<Hostile> = [
  [
    "a token of 8 KiB that is refused",
    withBody(JSON.stringify({ access_token: "x".repeat(8_192) }), "", "200 OK")
  ],
  ["64 KiB of depth", withBody("[".repeat(65_536), "", "200 OK")],
  ["64 KiB of members", withBody(`{${'"a":1,'.repeat(10_000)}"b":1}`, "", "200 OK")],
  ["the client's secret", withBody(JSON.stringify({ error: "geheim-geheim-geheim" }), "", "400 No")],
  ["a token without end", (socket: Socket) => drip("HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n")(socket)]
].map(([name, answer]) => ({
  name: `a token server with ${name}`,
  request: (url: string) => ({
    authentication: { kind: "oauth2", tokenUrl: url, clientId: "me", clientSecret: "geheim-geheim-geheim" }
  }),
  answer: answer as Hostile["answer"]
}))

export const hostiles: ReadonlyArray<Hostile> = [
  ...parts,
  ...[8, 64, 2_048].flatMap(repeated),
  ...handshakes,
  ...tokens
]

export interface Listening {
  readonly url: string
  readonly requests: () => number
  readonly close: () => Promise<void>
}

export const listen = ({ answer, tls }: Hostile): Promise<Listening> => {
  let requests = 0
  const sockets = new Set<Socket>()
  const serve = (socket: Socket) => {
    socket.on("error", () => undefined)
    socket.on("data", (chunk: Buffer) => {
      if (chunk.toString("latin1", 0, 5) !== "POST ") return
      requests++
      answer(socket)
    })
  }
  const server: Server =
    tls === undefined
      ? createTcpServer(serve)
      : createTlsServer({ ...tls, ...certificate(tls.certificate) }, serve).on(
          "tlsClientError",
          () => requests++
        )
  server.on("connection", (socket) => {
    sockets.add(socket)
    socket.on("error", () => undefined).once("close", () => sockets.delete(socket))
  })
  return new Promise((resolve) =>
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { readonly port: number }
      resolve({
        url: `${tls === undefined ? "http" : "https"}://127.0.0.1:${port}/`,
        requests: () => requests,
        close: () =>
          new Promise((closed) => {
            server.close(() => closed())
            for (const socket of sockets) socket.destroy()
          })
      })
    })
  )
}

/** A receiver that answers at once, until the scope ends. */
const receiverOf = (status: string) =>
  Effect.acquireRelease(
    Effect.promise(() => listen({ name: status, answer: withBody("", "", status) })),
    ({ close }) => Effect.promise(close)
  )

export const receiverAtOnce = receiverOf("200 OK")

export const receiverFailing = receiverOf("500 No")
