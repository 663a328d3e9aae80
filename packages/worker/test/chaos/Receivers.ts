/** The receivers of a run: how each path answers, and everything that they received and answered. */
import type { Behaviour } from "@posthorn/testkit/Receiver"
import type { Answered, Post } from "../simulation/Facts.ts"
import { type Chance, makeChance } from "../simulation/VirtualTime.ts"
import { MANNERS, type Manner } from "./Actions.ts"
import { RETRY_DELAY_MS } from "./Processes.ts"

type Answer = Parameters<Behaviour>[0]

/** Every nth delivery to a receiver of kind `grudge` is never accepted, so that it becomes a dead letter. */
const GRUDGE = 4

/** The event that kills every worker that sends it. */
export const POISON = "chaos.poison"

/** Statuses whose answers may have Retry-After. */
const ASKING = new Set([429, 503])

/**
 * Shorter than any retry delay, and longer than a busy machine needs to send the same request again: up to 269 ms were seen, at a
 * load of 18 on two cores.
 */
const AGAIN_MS = 0.95 * RETRY_DELAY_MS

const headersOf = (answer: Answer): Record<string, string> =>
  Object.fromEntries(answer.request.headers.map(([name, value]) => [name.toLowerCase(), value]))

/** The process that posted, by the name in its user agent. */
const senderOf = (headers: Record<string, string>) => headers["user-agent"]!.replace(/^.*?-/, "")

export class Receivers {
  readonly posts: Array<Post> = []
  readonly answered: Array<Answered> = []
  /** Names of the processes that posted; a post holds its index in this list. */
  readonly senders: Array<string> = []
  /** Connections that were broken instead of answered, by delivery: each may cause the request once more. */
  readonly broken = new Map<string, number>()
  poison: string | null = null
  /** From now on every receiver answers, so that replays arrive. */
  calm = false
  private readonly chance: Chance
  private readonly kill: (sender: string) => void

  constructor(seed: number, kill: (sender: string) => void) {
    this.chance = makeChance(seed + 1)
    this.kill = kill
  }

  readonly behaviours: Readonly<Record<string, Behaviour>> = Object.fromEntries(
    MANNERS.map((manner) => [`/${manner}`, (answer: Answer) => this.receive(manner, answer)])
  )

  private receive(manner: Manner, answer: Answer): void {
    const headers = headersOf(answer)
    const deliveryId = headers["webhook-id"]!
    const sender = senderOf(headers)
    const known = this.senders.indexOf(sender)
    const worker = known >= 0 ? known : this.senders.push(sender) - 1
    const body = answer.request.body.toString("utf8")
    const request = { url: answer.request.target, headers, body }
    const at = Date.now()
    const again = this.isAgain(deliveryId, worker, at)
    this.posts.push({ at, worker, request, deliveryId, again })
    if (body.includes(POISON)) this.poison = deliveryId
    if (deliveryId === this.poison) this.kill(sender)
    else this.behave(manner, answer, deliveryId, worker)
  }

  /** The same attempt on another connection: the first connection had no answer. */
  private isAgain(deliveryId: string, worker: number, at: number): boolean {
    const last = this.answered.findLastIndex((one) => one.deliveryId === deliveryId)
    const before = this.answered[last]
    const again = before?.status === null && before.worker === worker && at - before.at < AGAIN_MS
    if (again) this.answered.splice(last, 1)
    return again
  }

  private behave(manner: Manner, answer: Answer, deliveryId: string, worker: number): void {
    const { chance } = this
    const say = (status: number) => {
      this.answered.push({ deliveryId, worker, at: Date.now(), status })
      const asks = ASKING.has(status) && chance.happens(0.5)
      answer.reply(status, "", asks ? { "retry-after": chance.oneOf(["1", "2"]) } : {})
    }
    const sayNothing = () => this.answered.push({ deliveryId, worker, at: Date.now(), status: null })
    const breakOff = (how: () => void) => {
      sayNothing()
      this.broken.set(deliveryId, (this.broken.get(deliveryId) ?? 0) + 1)
      how()
    }
    const ways: Readonly<Record<Manner, () => void>> = {
      ok: () => setTimeout(say, chance.between(0, 30), 200),
      flaky: () => setTimeout(say, chance.between(0, 30), chance.oneOf([200, 200, 500, 429, 408, 503, 302])),
      slow: () => {
        const stay = answer.gone(() => {
          clearTimeout(answering)
          sayNothing()
        })
        // Not at a whole second, after which some workers give up.
        const ms = chance.oneOf([chance.between(200, 700), chance.between(1_300, 1_700)])
        const answering = setTimeout(() => {
          stay()
          say(200)
        }, ms)
      },
      grudge: () => say(Number.parseInt(deliveryId.slice(-4), 16) % GRUDGE === 0 ? 503 : 200),
      gone: () => say(this.calm ? 200 : 410),
      reset: () => breakOff(() => (chance.happens(0.5) ? answer.reset() : answer.close())),
      nonsense: () => breakOff(() => answer.raw("SSH-2.0-OpenSSH_9.6\r\n").close()),
      hang: () => (this.calm ? say(200) : answer.gone(sayNothing))
    }
    ways[manner]()
  }
}
