/** A proxy that treats calls as bad networks do: in turns it lets one pass, loses its answer, loses the call, delays it, limits it, or is away. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

const TURNS = [
  "pass",
  "lose the answer",
  "lose the call",
  "be away",
  "limit",
  "delay",
  "cut the answer"
] as const

export interface Unreliable {
  readonly url: string
  /** What it did, in order. */
  readonly done: ReadonlyArray<(typeof TURNS)[number]>
  readonly close: () => void
}

export const startUnreliable = async (target: string): Promise<Unreliable> => {
  const done: Array<(typeof TURNS)[number]> = []
  const server = createServer(async (request, response) => {
    const turn = TURNS[done.length % TURNS.length]!
    done.push(turn)
    const chunks: Array<Buffer> = []
    for await (const chunk of request) chunks.push(chunk)
    if (turn === "lose the call") return request.socket.destroy()
    if (turn === "be away") return void response.writeHead(503, { "retry-after": "0" }).end("away")
    if (turn === "limit") {
      const problem = { _tag: "RateLimited", status: 429, detail: "Too many", retryAfterSeconds: 0 }
      const head = { "content-type": "application/problem+json", "retry-after": "0" }
      return void response.writeHead(429, head).end(JSON.stringify(problem))
    }
    const answer = await fetch(target + request.url, {
      method: request.method!,
      headers: Object.fromEntries(
        Object.entries(request.headers).filter(
          ([name]) => !["host", "connection", "content-length"].includes(name)
        )
      ) as Record<string, string>,
      ...(chunks.length > 0 ? { body: Buffer.concat(chunks) } : {})
    })
    const body = Buffer.from(await answer.arrayBuffer())
    if (turn === "lose the answer") return request.socket.destroy()
    const send = () => {
      response.writeHead(answer.status, {
        "content-type": answer.headers.get("content-type") ?? "",
        "content-length": body.length
      })
      if (turn === "cut the answer") response.write(body.subarray(0, 5), () => request.socket.destroy())
      else response.end(body)
    }
    if (turn === "delay") setTimeout(send, 50)
    else send()
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    done,
    close: () => {
      server.closeAllConnections()
      server.close()
    }
  }
}
