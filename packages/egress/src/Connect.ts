/**
 * Opens one TCP or TLS connection to an origin, directly or through the proxy, or gives a failure reason.
 *
 * Guarantees: no connection to an address that `refuses` names, literal or resolved. A proxy resolves names by itself, so with one
 * only literal addresses are checked. Handshake.ts bounds and verifies TLS. It has no timer of its own: Exchange.ts keeps the
 * deadline.
 */
import { isIP, type LookupFunction, type Socket } from "node:net"
import type { SecureContext, TLSSocket } from "node:tls"
import type { AddressRace } from "./AddressRace.ts"
import { whileConnecting } from "./FailureReasons.ts"
import { shakeHands } from "./Handshake.ts"
import { AddressRefused, type Names, NoTurn, type Refuses } from "./Names.ts"
import type { Origin } from "./Origins.ts"
import type { Opening, Outcome, Tunnels } from "./Tunnels.ts"
import type { Turn, Turns } from "./Turns.ts"

export interface ConnectSettings {
  readonly refuses: Refuses
  readonly names: Names
  readonly race: AddressRace
  readonly secureContext: SecureContext
  /** Of TLS handshakes. */
  readonly handshakes: Turns
  /** Null without a proxy. */
  readonly tunnels: Tunnels | null
  /** Milliseconds that only go forward. */
  readonly now: () => number
}

/** TCP keep-alive notices a receiver that vanished while its connection was idle. */
const PROBE_AFTER_MS = 60_000

/** Opens it. A name look-up counts against the workspace's limit; a proxy looks names up by itself. */
export const connect = (
  origin: Origin,
  workspaceId: string,
  settings: ConnectSettings,
  outcome: Outcome
): Opening => {
  const { host, port } = origin
  if (isIP(host) !== 0 && settings.refuses(host, port, host)) {
    queueMicrotask(() => outcome.failed("connection_failed", new AddressRefused()))
    return { destroy: () => undefined, late: () => "request_timeout" }
  }
  const made: Outcome = {
    failed: outcome.failed,
    opened: (socket) => {
      if (origin.secure) securing = secure(origin, workspaceId, socket, settings, outcome)
      else ready(socket, outcome)
    }
  }
  let securing: (() => void) | undefined
  const { names, race, tunnels } = settings
  const opening =
    tunnels === null
      ? direct(origin, race, names.lookup(workspaceId, port), made)
      : tunnels.open(origin, made)
  return {
    destroy: () => {
      opening.destroy()
      securing?.()
    },
    late: opening.late
  }
}

const direct = (
  { host, port }: Origin,
  race: AddressRace,
  lookup: LookupFunction,
  { failed, opened }: Outcome
): Opening => {
  const racing = race.connect(
    { host, port, lookup },
    { failed: (error) => failed(whileConnecting(error, false), error), connected: opened }
  )
  return { destroy: racing.destroy, late: () => "request_timeout" }
}

/** Waits for its turn, and makes the connection one of TLS. Returns how to give it up. */
const secure = (
  origin: Origin,
  workspaceId: string,
  connected: Socket,
  { handshakes, secureContext }: ConnectSettings,
  outcome: Outcome
): (() => void) => {
  let tls: TLSSocket | undefined
  let isOver = false
  const over = () => {
    if (!isOver) handshakes.end(workspaceId, turn)
    isOver = true
  }
  const failed = (error: Error) => {
    over()
    outcome.failed(whileConnecting(error, true), error)
  }
  const turn: Turn = {
    begin: () => {
      connected.removeListener("error", failed)
      tls = shakeHands(
        origin,
        connected,
        secureContext,
        (socket) => {
          over()
          connected.setKeepAlive(true, PROBE_AFTER_MS)
          outcome.opened(socket)
        },
        failed
      )
    },
    late: () => {
      isOver = true
      connected.destroy()
      outcome.failed("no_turn", new NoTurn())
    }
  }
  connected.once("error", failed)
  handshakes.take(workspaceId, turn)
  return () => {
    over()
    connected.destroy()
    tls?.destroy()
  }
}

const ready = (socket: Socket, { opened }: Outcome): void => {
  socket.setKeepAlive(true, PROBE_AFTER_MS)
  opened(socket)
}
