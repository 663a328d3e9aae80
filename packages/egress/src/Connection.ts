/**
 * One connection to an origin: an undici Client (the HTTP/1.1 parser and writer) over a socket of our own making.
 *
 * One exchange at a time. Between two exchanges it is idle in Connections. If an idle socket closes after a request was queued
 * and before a byte of it was written, the Client reopens it by itself. Any other loss ends the Connection.
 */
import type { EventEmitter } from "node:events"
import type { Socket } from "node:net"
import { Client, type Dispatcher } from "undici"
import { type ConnectSettings, connect } from "./Connect.ts"
import { InterimAnswers } from "./InterimAnswers.ts"
import type { NotConnected } from "./Observation.ts"
import type { Origin } from "./Origins.ts"
import type { Opening } from "./Tunnels.ts"

/** The user of a connection: an undici handler that is also told when its receiver sends too much. */
export interface ConnectionUser extends Dispatcher.DispatchHandler {
  readonly flooded: () => void
  readonly workspaceId: string
}

/**
 * A larger answer head is refused. Honest receivers with long security policies reach Node's default of 16 KiB. Within it fit 4,000
 * headers, which cost the parser 3 ms.
 */
const HEAD_LIMIT_BYTES = 24 * 1024

/**
 * How long an idle connection is kept if the receiver does not say, and the maximum if it does. Load balancers close after 60 s
 * (AWS) to 600 s (Google), nginx after 75 s, Node after 5 s (which it says).
 */
const IDLE_MS = 30_000
const IDLE_MAX_MS = 60_000

const CLIENT_OPTIONS: Omit<Client.Options, "connect"> = {
  pipelining: 1,
  allowH2: false,
  maxHeaderSize: HEAD_LIMIT_BYTES,
  keepAliveTimeout: IDLE_MS,
  keepAliveMaxTimeout: IDLE_MAX_MS,
  // undici's own deadlines restart with every byte and are a second coarse; the exchange keeps its own.
  headersTimeout: 0,
  bodyTimeout: 0
}

export class Connection {
  readonly origin: Origin
  readonly openedAt: number
  readonly answers = new InterimAnswers()
  user: ConnectionUser | null = null
  /** Whether this socket has completed an exchange before. If so, a silent end may mean that it was stale. */
  used = false
  /** The reason why it could not be opened. */
  failure: NotConnected | null = null
  /** The socket's first error, if there was one. An answer that ends with the connection was then cut short. */
  broken: Error | null = null
  private socket: Socket | null = null
  private opening: Opening | null = null
  /** The latest user's workspace. The Client may open the connection after that user has given up. */
  private workspaceId = ""
  private readonly client: Client
  private readonly settings: ConnectSettings

  constructor(origin: Origin, settings: ConnectSettings, lost: (connection: Connection) => void) {
    this.origin = origin
    this.settings = settings
    this.openedAt = settings.now()
    this.client = new Client(origin.url, { ...CLIENT_OPTIONS, connect: (_, ready) => this.open(ready) })
    const ended = () => {
      if (this.user === null) lost(this)
    }
    // "error" is emitted when a handler throws. Without a listener it would end the process.
    this.client.on("disconnect", ended)
    ;(this.client as EventEmitter).on("error", ended)
  }

  get alive(): boolean {
    return this.socket !== null && !this.socket.destroyed && this.broken === null
  }

  dispatch(options: Dispatcher.DispatchOptions, user: ConnectionUser): void {
    this.user = user
    this.workspaceId = user.workspaceId
    this.answers.begin()
    this.client.dispatch(options, user)
  }

  /** The reason when a deadline passes before an answer. */
  get lateness(): "request_timeout" | "proxy_failed" {
    return this.opening?.late() ?? "request_timeout"
  }

  /** Ends it at once, also while it is still connecting. */
  destroy(): void {
    this.user = null
    this.opening?.destroy()
    this.socket?.destroy()
    this.client.destroy(() => undefined)
  }

  private open(ready: (...outcome: [null, Socket] | [Error, null]) => void): void {
    this.used = false
    this.broken = null
    this.answers.begin()
    this.opening = connect(this.origin, this.workspaceId, this.settings, {
      opened: (socket) => {
        this.socket = socket
        this.watch(socket)
        ready(null, socket)
      },
      failed: (reason, error) => {
        this.failure = reason
        ready(error, null)
      }
    })
  }

  /** Puts InterimAnswers between the socket and the parser, which takes bytes with `read()` and in no other way. */
  private watch(socket: Socket): void {
    const { tunnels } = this.settings
    const read = socket.read.bind(socket)
    socket.read = (size?: number) => {
      for (;;) {
        const chunk: Buffer | null = read(size)
        if (chunk === null) return chunk
        tunnels?.worked()
        if (this.user === null) return chunk
        const passed = this.answers.pass(chunk)
        if (this.answers.tooMuch) return this.flood()
        if (passed !== null) return passed
      }
    }
    socket.once("error", (error) => {
      this.broken = error
    })
  }

  private flood(): null {
    this.user?.flooded()
    return null
  }
}
