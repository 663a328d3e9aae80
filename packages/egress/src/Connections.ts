/**
 * The connections of one dispatcher: kept alive per origin, bounded per origin and in all.
 *
 * No send waits for a connection: it takes an idle one of its origin or opens one. The caller bounds how many sends run at a
 * time, so a hung receiver delays no other request, not even to its own origin. Idle connections are bounded: at most
 * `perOrigin` for one origin and `inAll` together; the one idle for longest is closed first. A dead origin has no idle
 * connection, so it displaces nothing.
 */
import type { ConnectSettings } from "./Connect.ts"
import { Connection } from "./Connection.ts"
import type { Origin } from "./Origins.ts"

/** Without this age limit, a connection in constant use would never notice that the receiver's name points elsewhere. */
const AGE_LIMIT_MS = 300_000

interface KeepAlive {
  readonly perOrigin: number
  readonly inAll: number
}

export class Connections {
  /** In order of release: the first one has been idle for longest. */
  private readonly idle = new Set<Connection>()
  private readonly all = new Set<Connection>()
  /** Idle connections by origin, the most recently used last. */
  private readonly idleTo = new WeakMap<Origin, Array<Connection>>()
  /** After `close` no observation can be trusted: closing itself makes requests fail. */
  closed = false
  private readonly keep: KeepAlive
  private readonly settings: ConnectSettings

  constructor(keep: KeepAlive, settings: ConnectSettings) {
    this.keep = keep
    this.settings = settings
  }

  /** Milliseconds that only go forward. */
  now(): number {
    return this.settings.now()
  }

  get counts(): { readonly open: number; readonly idle: number } {
    return { open: this.all.size, idle: this.idle.size }
  }

  /** The most recently used idle connection of `origin`, or a new one. */
  take(origin: Origin): Connection {
    const idle = this.idleOf(origin)
    for (let connection = idle.pop(); connection !== undefined; connection = idle.pop()) {
      this.idle.delete(connection)
      if (connection.alive) return connection
      this.drop(connection)
    }
    return this.open(origin)
  }

  private idleOf(origin: Origin): Array<Connection> {
    const known = this.idleTo.get(origin)
    if (known !== undefined) return known
    const none: Array<Connection> = []
    this.idleTo.set(origin, none)
    return none
  }

  open(origin: Origin): Connection {
    const connection = new Connection(origin, this.settings, (lost) => this.drop(lost))
    this.all.add(connection)
    return connection
  }

  /** After a complete exchange: keeps `connection` for the next send, if it may be kept. */
  release(connection: Connection): void {
    const { origin } = connection
    connection.user = null
    connection.used = true
    const aged = this.now() - connection.openedAt > AGE_LIMIT_MS
    if (!connection.alive || aged || this.idleOf(origin).length >= this.keep.perOrigin) this.drop(connection)
    else this.store(connection)
  }

  private store(connection: Connection): void {
    this.idleOf(connection.origin).push(connection)
    this.idle.add(connection)
    if (this.idle.size > this.keep.inAll) this.drop(this.idle.values().next().value!)
  }

  /** Closes `connection`, whatever it is doing. */
  drop(connection: Connection): void {
    if (!this.all.delete(connection)) return
    if (this.idle.delete(connection)) {
      const idle = this.idleOf(connection.origin)
      const at = idle.indexOf(connection)
      if (at !== -1) idle.splice(at, 1)
    }
    connection.destroy()
  }

  closeIdle(origin: Origin): void {
    for (const connection of [...this.idleOf(origin)]) this.drop(connection)
  }

  close(): void {
    this.closed = true
    for (const connection of [...this.all]) this.drop(connection)
  }
}
