/**
 * Lends the pool's connections so that no workspace has more than its share of them.
 *
 * Whoever waits for the share of a workspace waits in memory, in turn, for as long as for a connection at most: 24 batches
 * of one customer at once leave the other connections to everybody else. Statements that are nobody's (the look-up of a
 * token) have no share to wait for. Source: decision §10 (Limits).
 */
import { CurrentPrincipal } from "@posthorn/domain/Principal"
import { Context, Fiber, Option } from "effect"
import type pg from "pg"

type Lent = (
  error: Error | undefined,
  client: pg.PoolClient | undefined,
  release: (error?: Error) => void
) => void

/** The workspace that the running operation is for. */
const workspaceNow = (): string | undefined => {
  const principal = Option.flatMap(Fiber.getCurrentFiber(), ({ currentContext }) =>
    Context.getOption(currentContext as Context.Context<CurrentPrincipal>, CurrentPrincipal)
  )
  return Option.getOrUndefined(principal)?.workspaceId
}

interface Share {
  lent: number
  readonly waiting: Set<() => void>
}

/** Limits what `pool.connect` lends to each workspace. */
export const limitShares = (pool: pg.Pool, most: number, patienceMs: number): pg.Pool => {
  const lend = pool.connect.bind(pool) as (lent: Lent) => void
  const shares = new Map<string, Share>()
  const owners = new WeakMap<object, string>()

  const leave = (owner: string) => {
    const share = shares.get(owner)!
    const [next] = share.waiting
    if (next !== undefined) {
      share.waiting.delete(next)
      next()
    } else if (--share.lent === 0) shares.delete(owner)
  }

  const lendTo = (owner: string, lent: Lent) =>
    lend((error, client, release) => {
      if (client === undefined) leave(owner)
      else owners.set(client, owner)
      lent(error, client, release)
    })

  const wait = (share: Share, owner: string, lent: Lent) => {
    const next = () => {
      clearTimeout(timer)
      lendTo(owner, lent)
    }
    const timer = setTimeout(() => {
      share.waiting.delete(next)
      lent(new Error("This workspace has its share of the connections in use"), undefined, () => undefined)
    }, patienceMs)
    share.waiting.add(next)
  }

  pool.on("release", (_, client) => {
    const owner = owners.get(client)
    owners.delete(client)
    if (owner !== undefined) leave(owner)
  })

  const connect = (lent: Lent) => {
    const owner = workspaceNow()
    if (owner === undefined) return lend(lent)
    const share = shares.get(owner) ?? { lent: 0, waiting: new Set() }
    shares.set(owner, share)
    if (share.lent >= most) return wait(share, owner, lent)
    share.lent += 1
    lendTo(owner, lent)
  }

  return Object.assign(pool, { connect }) as pg.Pool
}
