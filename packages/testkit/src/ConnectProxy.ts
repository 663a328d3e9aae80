/**
 * A CONNECT proxy on 127.0.0.1, with a behaviour that a test can change while it runs. Every name leads to 127.0.0.1: no name server is
 * asked.
 */
import { connect, createServer, type Socket } from "node:net"
import { Effect, Schedule } from "effect"

/**
 * It tunnels; or accepts the connection and stays silent; or answers the CONNECT with these bytes; or closes without an
 * answer.
 */
export type ProxyBehaviour = "tunnel" | "silent" | "close" | { readonly answer: string }

export interface ConnectProxy {
  readonly port: number
  /** The heads of all requests, as they were received. */
  readonly asked: ReadonlyArray<string>
  behaviour: ProxyBehaviour
  /** Waits for this number of requests. */
  readonly waitFor: (count: number) => Effect.Effect<void>
}

const HEAD = /^CONNECT (\S+):(\d+) HTTP\/1\.1\r\n/

const tunnel = (client: Socket, head: string): void => {
  const [, , port] = HEAD.exec(head) ?? []
  if (port === undefined) return void client.end("HTTP/1.1 405 Method Not Allowed\r\n\r\n")
  const target = connect(Number(port), "127.0.0.1")
  client.on("close", () => target.destroy())
  target
    .on("close", () => client.destroy())
    .on("error", () => client.end("HTTP/1.1 502 Bad Gateway\r\n\r\n"))
    .once("connect", () => {
      client.write("HTTP/1.1 200 Connection established\r\n\r\n")
      client.pipe(target).pipe(client)
    })
}

export const make = (behaviour: ProxyBehaviour = "tunnel") =>
  Effect.acquireRelease(
    Effect.async<{ readonly proxy: ConnectProxy; readonly close: () => void }>((resume) => {
      const asked: Array<string> = []
      const open = new Set<Socket>()
      const waitFor = (count: number) =>
        Effect.suspend(() => (asked.length >= count ? Effect.void : Effect.fail("not yet"))).pipe(
          Effect.retry(Schedule.spaced("2 millis")),
          Effect.orDie
        )
      const proxy = { port: 0, asked, behaviour, waitFor }
      const answer = (client: Socket, head: string) => {
        asked.push(head)
        const { behaviour: how } = proxy
        if (how === "tunnel") tunnel(client, head)
        else if (how === "close") client.destroy()
        else if (how !== "silent") client.write(how.answer)
      }
      const server = createServer((client) => {
        open.add(client)
        client.on("error", () => undefined).on("close", () => open.delete(client))
        let head = ""
        client.on("data", function read(chunk) {
          head += chunk.toString("latin1")
          if (!head.endsWith("\r\n\r\n")) return
          client.removeListener("data", read)
          answer(client, head)
        })
      })
      server.listen(0, "127.0.0.1", () => {
        proxy.port = (server.address() as { port: number }).port
        const close = () => {
          server.close()
          for (const client of open) client.destroy()
        }
        resume(Effect.succeed({ proxy, close }))
      })
    }),
    ({ close }) => Effect.sync(close)
  ).pipe(Effect.map(({ proxy }): ConnectProxy => proxy))
