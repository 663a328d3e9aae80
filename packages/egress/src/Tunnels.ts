/**
 * Opens connections through a proxy, by CONNECT.
 *
 * Guarantees: of the proxy's answer at most `HEAD_LIMIT_BYTES` are read, and only its status counts. There is no timer here:
 * Exchange.ts keeps the deadline, and asks `late` whose fault it is when that passes.
 *
 * 502, 503 and 504 say that the proxy did not reach the endpoint. Any other failure is the proxy's own. A CONNECT that is not
 * answered in time looks the same in both cases: many proxies try to reach an address for longer than our deadline. So it is the
 * endpoint's failure only if the proxy has passed on something else meanwhile. Source: spec §3.4 ("Proxy").
 */
import { isIP, type LookupFunction, type Socket } from "node:net"
import { Redacted } from "effect"
import type { AddressRace } from "./AddressRace.ts"
import type { NotConnected } from "./Observation.ts"
import type { Proxy } from "./Proxy.ts"

const HEAD_LIMIT_BYTES = 16 * 1024
const END = "\r\n\r\n"
const STATUS = /^HTTP\/1\.[01] ([1-5]\d\d)[ \r]/

/** Statuses by which a proxy says that it did not reach the target. */
const UNREACHED: ReadonlySet<number> = new Set([502, 503, 504])

export interface Target {
  /** Without the brackets of an IPv6 literal. */
  readonly host: string
  readonly port: number
}

export interface Outcome {
  readonly opened: (socket: Socket) => void
  readonly failed: (reason: NotConnected, error: Error) => void
}

/** A connection that is being opened. */
export interface Opening {
  /** Gives up; nothing is called any more. */
  readonly destroy: () => void
  /** The reason if the deadline passes now. */
  readonly late: () => "request_timeout" | "proxy_failed"
}

/** A proxy that has been asked for a tunnel. */
interface Asking {
  /** Stops to read its answer. */
  readonly end: () => void
  /** Whether the target may be what is slow. */
  readonly mayBeTarget: () => boolean
}

export class Tunnels {
  /** How often the proxy has shown that it works. */
  private signs = 0
  private readonly proxy: Proxy
  private readonly lookup: LookupFunction
  private readonly race: AddressRace

  constructor(proxy: Proxy, lookup: LookupFunction, race: AddressRace) {
    this.proxy = proxy
    this.lookup = lookup
    this.race = race
  }

  /** The proxy has passed something on. */
  readonly worked = (): void => {
    this.signs++
  }

  open(target: Target, outcome: Outcome): Opening {
    const { host, port } = this.proxy
    let asking: Asking | undefined
    const racing = this.race.connect(
      { host, port, lookup: this.lookup },
      {
        failed: (error) => outcome.failed("proxy_failed", error),
        connected: (socket) => {
          asking = this.ask(socket, target, outcome)
        }
      }
    )
    return {
      destroy: () => {
        asking?.end()
        racing.destroy()
      },
      late: () => (asking?.mayBeTarget() === true ? "request_timeout" : "proxy_failed")
    }
  }

  /** Asks the proxy, to which this socket is connected. */
  private ask(socket: Socket, target: Target, outcome: Outcome): Asking {
    /** When CONNECT was sent. */
    const asked = this.signs
    let received = Buffer.alloc(0)
    let size = 0
    let ended = false

    const end = () => {
      ended = true
      socket.removeListener("readable", read).removeListener("close", closed)
    }
    const fail = (reason: NotConnected, what: string) => {
      if (ended) return
      end()
      socket.destroy()
      outcome.failed(reason, new Error(what))
    }
    const answered = (status: number) => {
      this.worked()
      // Nobody may speak before we do.
      if (status < 300 && received.length > 0)
        return fail("proxy_failed", "The proxy sent more than an answer")
      if (status >= 300)
        return fail(
          UNREACHED.has(status) ? "connection_failed" : "proxy_failed",
          `The proxy answered ${status}`
        )
      end()
      outcome.opened(socket)
    }
    const read = () => {
      for (let chunk = socket.read(); chunk !== null; chunk = socket.read()) {
        received = Buffer.concat([received, chunk])
        size += chunk.length
      }
      for (
        let at = received.indexOf(END);
        at !== -1 && size <= HEAD_LIMIT_BYTES;
        at = received.indexOf(END)
      ) {
        const status = Number(STATUS.exec(received.toString("latin1", 0, at + 2))?.[1] ?? 0)
        if (status < 100 || status === 101) return fail("proxy_failed", "The proxy's answer is no HTTP")
        received = received.subarray(at + END.length)
        if (status >= 200) return answered(status)
      }
      if (size > HEAD_LIMIT_BYTES) fail("proxy_failed", "The proxy's answer is too long")
    }
    const closed = () => fail("proxy_failed", "The proxy closed the connection")

    // Also when the tunnel is open: an error without a listener would end the process.
    socket.on("error", () => undefined)
    socket.on("close", closed)
    socket.on("readable", read)
    socket.write(this.request(target))
    return { end, mayBeTarget: () => ended || asked !== this.signs }
  }

  private request({ host, port }: Target): string {
    const target = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`
    const { authorization } = this.proxy
    const credentials =
      authorization === null ? "" : `proxy-authorization: ${Redacted.value(authorization)}\r\n`
    return `CONNECT ${target} HTTP/1.1\r\nhost: ${target}\r\n${credentials}\r\n`
  }
}
