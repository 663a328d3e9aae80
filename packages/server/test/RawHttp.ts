/** HTTP/1.1 written by hand, for requests that no client would send. */
import { connect, type Socket } from "node:net"
import { type Duration, Effect } from "effect"

export interface RawAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  readonly body: { readonly [member: string]: unknown; readonly _tag?: string; readonly traceId?: string }
  /** Whether the server ended the connection after this answer. */
  readonly closed: boolean
}

const parse = (text: string, closed: boolean): RawAnswer => {
  const at = text.indexOf("\r\n\r\n")
  const [line = "", ...lines] = text.slice(0, at).split("\r\n")
  const headers = Object.fromEntries(
    lines.map((each) => [
      each.slice(0, each.indexOf(":")).toLowerCase(),
      each.slice(each.indexOf(":") + 1).trim()
    ])
  )
  const body = text.slice(at + 4)
  return {
    status: Number(line.split(" ")[1]),
    headers,
    text: body,
    body: body === "" ? {} : JSON.parse(body),
    closed
  }
}

/** An answer is complete when its body is as long as its head says. */
const isWhole = (text: string) => {
  const at = text.indexOf("\r\n\r\n")
  const length = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, at))?.[1]
  return at >= 0 && (length === undefined || Buffer.byteLength(text.slice(at + 4)) >= Number(length))
}

/** Sends a text and gives the first final answer; if it says `connection: close`, only after the server has closed it. */
export const sendRaw = (
  url: string,
  send: (socket: Socket) => void,
  patience: Duration.DurationInput = "30 seconds"
): Effect.Effect<RawAnswer> =>
  Effect.async<RawAnswer>((resume) => {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname, () => send(socket))
    let text = ""
    const done = (closed: boolean) => {
      socket.destroy()
      resume(Effect.sync(() => parse(text, closed)))
    }
    socket.on("data", (chunk) => {
      text = (text + chunk.toString("utf8")).replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, "")
      if (isWhole(text) && !/^connection: close\r$/im.test(text)) done(false)
    })
    socket.on("error", () => {})
    socket.on("close", () => done(true))
  }).pipe(Effect.timeout(patience), Effect.orDie)
