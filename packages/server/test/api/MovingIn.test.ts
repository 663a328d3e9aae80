/**
 * A platform that sends webhooks already moves to Posthorn, endpoint by endpoint, by the recipes of docs/moving-in.md. Its receivers
 * verify strictly, with the libraries that they have, and refuse nothing.
 */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto"
import { readFileSync } from "node:fs"
import { createServer, type IncomingHttpHeaders } from "node:http"
import type { AddressInfo } from "node:net"
import { buffer } from "node:stream/consumers"
import { expect, layer } from "@effect/vitest"
import { verify as verifyLikeGitHub } from "@octokit/webhooks-methods"
import { until } from "@posthorn/testkit/Until"
import { Effect } from "effect"
import Stripe from "stripe"
import { Webhook as Svix } from "svix-1"
import { serverAndWorker } from "../mcp/Agent.ts"
import { entered } from "../TestServer.ts"

const document = readFileSync(new URL("../../../../docs/moving-in.md", import.meta.url), "utf8")

interface Recipe {
  readonly signingSecret: string
  readonly request: { readonly signatures?: ReadonlyArray<{ readonly header: string }> }
}

/** The endpoint that a section of the document shows. */
const recipeOf = (section: string): Recipe => {
  const [, text] = document.split(`## From ${section}\n`)
  return JSON.parse(/```json\n([\s\S]*?)```/.exec(text!)![1]!)
}

const hex = (secret: string, content: string) => createHmac("sha256", secret).update(content).digest("hex")

/** A way to send webhooks that a platform had before. */
interface Sender {
  readonly section: string
  readonly newSecret: () => string
  /** The headers of the old sender. */
  readonly sign: (secret: string, body: string) => Record<string, string>
  /** As its receivers check it; false or an exception is a refusal. */
  readonly verify: (secret: string, body: string, headers: IncomingHttpHeaders) => Promise<unknown> | unknown
}

const now = () => String(Math.floor(Date.now() / 1000))

const textSecret = () => randomBytes(20).toString("hex")

const SENDERS: ReadonlyArray<Sender> = [
  {
    section: "a sender in GitHub's style",
    newSecret: textSecret,
    sign: (secret, body) => ({ "x-hub-signature-256": `sha256=${hex(secret, body)}` }),
    verify: (secret, body, headers) => verifyLikeGitHub(secret, body, String(headers["x-hub-signature-256"]))
  },
  {
    section: "a sender in Stripe's style",
    newSecret: () => `whsec_${textSecret()}`,
    sign: (secret, body) => {
      const t = now()
      return { "stripe-signature": `t=${t},v1=${hex(secret, `${t}.${body}`)}` }
    },
    verify: (secret, body, headers) =>
      Stripe.webhooks.constructEvent(body, String(headers["stripe-signature"]), secret)
  },
  {
    section: "Convoy",
    newSecret: textSecret,
    sign: (secret, body) => {
      const t = now()
      return { "x-convoy-signature": `t=${t},v1=${hex(secret, `${t},${body}`)}` }
    },
    verify: (secret, body, headers) => {
      const [, t, v1] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers["x-convoy-signature"]))!
      return timingSafeEqual(Buffer.from(v1!), Buffer.from(hex(secret, `${t},${body}`)))
    }
  },
  {
    section: "Svix",
    newSecret: () => `whsec_${randomBytes(24).toString("base64")}`,
    sign: (secret, body) => {
      const at = new Date()
      return {
        "svix-id": "msg_1",
        "svix-timestamp": String(Math.floor(at.getTime() / 1000)),
        "svix-signature": new Svix(secret).sign("msg_1", at, body)
      }
    },
    verify: (secret, body, headers) => new Svix(secret).verify(body, headers as Record<string, string>)
  }
]

interface Customer {
  readonly sender: Sender
  readonly secret: string
}

/** One server for all customers' receivers, `/0`, `/1` and so on; what they took and what they refused, by body. */
const receivers = (customers: ReadonlyArray<Customer>) =>
  Effect.gen(function* () {
    const taken: Array<string> = []
    const refused: Array<string> = []
    const isRight = async ({ secret, sender }: Customer, body: string, headers: IncomingHttpHeaders) => {
      try {
        return (await sender.verify(secret, body, headers)) !== false
      } catch {
        return false
      }
    }
    const server = createServer(async (request, response) => {
      const body = (await buffer(request)).toString("utf8")
      const right = await isRight(customers[Number(request.url!.slice(1))]!, body, request.headers)
      ;(right ? taken : refused).push(body)
      response.writeHead(right ? 204 : 401).end()
    })
    yield* Effect.acquireRelease(
      Effect.async<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
      () => Effect.sync(() => server.close().closeAllConnections())
    )
    const url = (n: number) => `http://127.0.0.1:${(server.address() as AddressInfo).port}/${n}`
    return { taken, refused, url }
  })

const eventOf = (n: number, by: string) => ({
  id: `evt_${n}`,
  object: "event",
  type: "invoice.paid",
  by,
  name: "Zoë 😀"
})

layer(serverAndWorker, { excludeTestServices: true, timeout: "120 seconds" })("moving in", (it) => {
  it.scoped("§2.9 200 receivers that verify strictly are moved one after another, and refuse nothing", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const customers = Array.from({ length: 200 }, (_, n) => {
        const sender = SENDERS[n % SENDERS.length]!
        return { sender, secret: sender.newSecret() }
      })
      const { refused, taken, url } = yield* receivers(customers)

      for (const [n, { secret, sender }] of customers.entries()) {
        const before = JSON.stringify(eventOf(n, "old sender"))
        yield* Effect.promise(() =>
          fetch(url(n), { method: "POST", body: before, headers: sender.sign(secret, before) })
        )
        const created = yield* ws.call("POST", "/webhooks", {
          body: {
            ...recipeOf(sender.section),
            url: url(n),
            signingSecret: secret,
            externalId: `customer-${n}`,
            eventTypes: [`customer${n}.*`]
          }
        })
        expect(created.status, created.text).toBe(201)
        yield* ws.call("POST", "/events", {
          body: { eventType: `customer${n}.invoice.paid`, payload: eventOf(n, "Posthorn") }
        })
      }
      yield* until(
        Effect.sync(() => taken.length + refused.length),
        (sum) => sum >= 2 * customers.length
      )

      expect(refused).toEqual([])
      for (const by of ["old sender", "Posthorn"])
        expect(new Set(taken.filter((body) => body.includes(by))).size).toBe(customers.length)
    })
  )

  it.scoped("§2.9 a receiver refuses the recipe of another sender, or another secret", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const customers = SENDERS.map((sender) => ({ sender, secret: sender.newSecret() }))
      const { refused, taken, url } = yield* receivers(customers)
      for (const [n, { sender }] of customers.entries())
        yield* ws.call("POST", "/webhooks", {
          body: {
            ...recipeOf(sender.section),
            url: url(n),
            signingSecret: sender.newSecret(),
            policy: { retries: { kind: "none" } },
            externalId: `customer-${n}`,
            eventTypes: ["*"]
          }
        })
      yield* ws.call("POST", "/events", {
        body: { eventType: "invoice.paid", payload: eventOf(0, "Posthorn") }
      })
      yield* until(
        Effect.sync(() => taken.length + refused.length),
        (sum) => sum >= customers.length
      )

      expect(taken).toEqual([])
      expect(refused).toHaveLength(customers.length)
    })
  )
})
