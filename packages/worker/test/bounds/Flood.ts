/** Many requests at once, whose answers are thrown away as they come. */
import { Agent, request } from "node:http"
import { connect, type Socket } from "node:net"

export interface Asked {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
}

interface FloodOptions {
  readonly atOnce: number
  /** Most requests. */
  readonly most: number
  /** No request begins later than this. */
  readonly forMs: number
}

/** Statuses by count, a tool's refusal as `refused`, and the bytes of the largest answer. */
export interface Flooded {
  readonly statuses: Readonly<Record<string, number>>
  readonly bytes: number
}

/** Answers that did not come in this time count as `none`. */
const PATIENCE_MS = 30_000

/** How the answer ends in which a tool refuses: its status is 200. */
const REFUSAL = /"isError":true|"error":\{"code"/
const END_BYTES = 1_000

const one = (origin: string, agent: Agent, { body, headers, method, path }: Asked) =>
  new Promise<{ readonly status: string; readonly bytes: number }>((resolve) => {
    const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) }
    const asked = request(
      `${origin}${path}`,
      { agent, method, headers: { ...headers, ...length }, timeout: PATIENCE_MS },
      (answer) => {
        let bytes = 0
        let end = ""
        answer.on("data", (chunk: Buffer) => {
          bytes += chunk.length
          if (path === "/mcp") end = `${end}${chunk.subarray(-END_BYTES)}`.slice(-END_BYTES)
        })
        answer.on("close", () =>
          resolve({ status: REFUSAL.test(end) ? "refused" : String(answer.statusCode), bytes })
        )
      }
    )
    asked.on("timeout", () => asked.destroy())
    asked.on("error", () => resolve({ status: "none", bytes: 0 }))
    asked.end(body)
  })

export const flood = async (
  origin: string,
  next: (n: number) => Asked,
  { atOnce, forMs, most }: FloodOptions
): Promise<Flooded> => {
  const agent = new Agent({ keepAlive: true, maxSockets: atOnce })
  const statuses: Record<string, number> = {}
  const until = performance.now() + forMs
  let begun = 0
  let largest = 0
  const go = async () => {
    while (begun < most && performance.now() < until) {
      const { bytes, status } = await one(origin, agent, next(begun++))
      statuses[status] = (statuses[status] ?? 0) + 1
      largest = Math.max(largest, bytes)
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, most) }, go))
  agent.destroy()
  return { statuses, bytes: largest }
}

/** Writes these bytes on each of so many connections at once, and reads what comes, or nothing, for a while. */
export const write = async (
  origin: string,
  text: string,
  { atOnce, forMs, isReading = true }: { atOnce: number; forMs: number; isReading?: boolean }
): Promise<Flooded> => {
  const { hostname, port } = new URL(origin)
  let bytes = 0
  const sockets = Array.from({ length: atOnce }, () => {
    const socket: Socket = connect(Number(port), hostname, () => socket.write(text))
    socket.on("error", () => undefined)
    if (isReading)
      socket.on("data", (chunk) => {
        bytes += chunk.length
      })
    return socket
  })
  await new Promise((resolve) => setTimeout(resolve, forMs))
  for (const socket of sockets) socket.destroy()
  return { statuses: {}, bytes }
}
