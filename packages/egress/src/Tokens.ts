/**
 * The tokens of endpoints that are delivered to with OAuth.
 *
 * A token is kept for its endpoint and its credentials, and fetched again at three quarters of its life, while it is still used. An
 * endpoint has at most one request for a token under way; a change of its credentials gives that one up. A workspace has at most
 * `AT_ONCE` under way, and the rest wait in order, so that it cannot exhaust the sockets of this process. A failure is remembered
 * for `FAILED_MS`: until then nobody is asked again. Nothing here waits: `ask` answers at once, and `settled` is called when it
 * is worth asking again. Source: spec §2.9 (Tokens).
 */
import { createHash } from "node:crypto"
import { Either, Redacted } from "effect"
import { LRUCache } from "lru-cache"
import type { ClientCredentials, RequestToken, TokenAnswer, TokenFailure } from "./ClientCredentials.ts"

/** More than any workspace needs whose token endpoints answer. */
const AT_ONCE = 64
const FAILED_MS = 1_000
const REFRESHED_AFTER = 3 / 4
/** Most endpoints whose token is kept; with tokens of 8 KiB they take 40 MB. */
const KEPT = 5_000

export interface TokenOwner {
  readonly workspaceId: string
  readonly endpointId: string
}

/** Credentials, and what tells them from those of before. */
export interface Versioned {
  readonly credentials: ClientCredentials
  readonly version: string
}

/** Equal for equal credentials; it holds none of them. */
export const versionOf = ({ clientSecret, ...shown }: ClientCredentials): string =>
  createHash("sha256")
    .update(JSON.stringify([shown, Redacted.value(clientSecret)]))
    .digest("base64")

export type Asked =
  | { readonly kind: "token"; readonly token: Redacted.Redacted }
  | { readonly kind: "failed"; readonly why: TokenFailure }
  /** `settled` is going to be called. */
  | { readonly kind: "waiting" }

interface TokensOptions {
  readonly request: RequestToken
  /** Milliseconds that only go forward. */
  readonly now: () => number
  readonly settled: (endpointId: string) => void
}

interface Held {
  readonly version: string
  token: Redacted.Redacted | null
  refreshAt: number
  until: number
  /** The latest failure. */
  why: TokenFailure
  failedUntil: number
}

interface Fetch {
  readonly owner: TokenOwner
  readonly wanted: Versioned
  /** Null while it waits for its turn. */
  giveUp: (() => void) | null
}

const WAITING: Asked = { kind: "waiting" }

export class Tokens {
  private readonly held = new LRUCache<string, Held>({ max: KEPT })
  private readonly fetches = new Map<string, Fetch>()
  /** By workspace: how many are under way, and which wait. */
  private readonly turns = new Map<string, { running: number; readonly waiting: Set<Fetch> }>()
  private readonly options: TokensOptions

  constructor(options: TokensOptions) {
    this.options = options
  }

  ask(owner: TokenOwner, wanted: Versioned): Asked {
    const now = this.options.now()
    const held = this.heldOf(owner.endpointId, wanted.version)
    if (held.token !== null && now < held.until) {
      if (now >= held.refreshAt && now >= held.failedUntil) this.fetch(owner, wanted)
      return { kind: "token", token: held.token }
    }
    if (now < held.failedUntil) return { kind: "failed", why: held.why }
    this.fetch(owner, wanted)
    return WAITING
  }

  /** The receiver did not accept this token. One that was replaced meanwhile is kept. */
  refused({ endpointId }: TokenOwner, { version }: Versioned, token: Redacted.Redacted): void {
    const held = this.held.peek(endpointId)
    if (held?.version === version && held.token === token) held.token = null
  }

  private heldOf(endpointId: string, version: string): Held {
    const known = this.held.get(endpointId)
    if (known !== undefined && known.version === version) return known
    const none = { version, token: null, refreshAt: 0, until: 0, why: "", failedUntil: 0 }
    this.held.set(endpointId, none)
    return none
  }

  private fetch(owner: TokenOwner, wanted: Versioned): void {
    const running = this.fetches.get(owner.endpointId)
    if (running?.wanted.version === wanted.version) return
    if (running !== undefined) this.end(running)
    const fetch: Fetch = { owner, wanted, giveUp: null }
    this.fetches.set(owner.endpointId, fetch)
    const turns = this.turns.get(owner.workspaceId) ?? { running: 0, waiting: new Set() }
    this.turns.set(owner.workspaceId, turns)
    if (turns.running < AT_ONCE) this.start(fetch)
    else turns.waiting.add(fetch)
  }

  private start(fetch: Fetch): void {
    const { credentials, version } = fetch.wanted
    const { endpointId, workspaceId } = fetch.owner
    this.turns.get(workspaceId)!.running++
    fetch.giveUp = this.options.request(workspaceId, credentials, (answer) => {
      this.end(fetch)
      if (answer === null) return
      this.store(this.heldOf(endpointId, version), answer)
      this.options.settled(endpointId)
    })
  }

  private store(held: Held, answer: TokenAnswer): void {
    const now = this.options.now()
    if (Either.isLeft(answer)) {
      held.why = answer.left
      held.failedUntil = now + FAILED_MS
      return
    }
    const { livesSeconds, value } = answer.right
    held.token = value
    held.refreshAt = now + livesSeconds * 1_000 * REFRESHED_AFTER
    held.until = now + livesSeconds * 1_000
  }

  /** It is over, or given up. */
  private end(fetch: Fetch): void {
    const { endpointId, workspaceId } = fetch.owner
    const turns = this.turns.get(workspaceId)!
    this.fetches.delete(endpointId)
    if (fetch.giveUp === null) turns.waiting.delete(fetch)
    else {
      fetch.giveUp()
      turns.running--
    }
    const [next] = turns.waiting
    if (next !== undefined && turns.running < AT_ONCE) {
      turns.waiting.delete(next)
      this.start(next)
    }
    if (turns.running === 0) this.turns.delete(workspaceId)
  }
}
