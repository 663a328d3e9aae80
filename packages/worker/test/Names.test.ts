/** Names whose servers do not answer delay only their own workspace. Look-ups go to a DNS server of this test. */
import { mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it, layer } from "@effect/vitest"
import { parseAllowedTargets } from "@posthorn/domain/AllowedTargets"
import { LOOKUPS, Names, type Resolve } from "@posthorn/egress/Names"
import { type Sources, systemNames } from "@posthorn/egress/SystemNames"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { Clock, Effect, Either } from "effect"
import { NameSource } from "../src/attempt/Sender.ts"
import { nameServer } from "./NameServer.ts"
import { attempts, endpoint, publish, Setting, statuses, until, worker, workspace } from "./Setting.ts"

const DEAD = 90
const EVENTS = 59
/** Without limits, the other workspace would wait for a look-up of each dead name: 25 s and more. */
const PROMPT_MS = 4_000

layer(Setting, { excludeTestServices: true })(
  "a workspace with 90 names whose servers do not answer",
  (it) => {
    it.scoped("§3.4 delays no other workspace, and counts no failure for an endpoint not tried", () =>
      Effect.gen(function* () {
        const receiver = yield* makeReceiver()
        const { asked, server } = yield* nameServer({
          "neighbour.example": { address: "127.0.0.1", ttl: 0 },
          "healthy.example": { address: "127.0.0.1", ttl: 0 }
        })
        const [busy, neighbour] = [yield* workspace, yield* workspace]
        for (let n = 0; n < DEAD; n++) yield* endpoint(busy, `https://n${n}.dead.example/`, "busy.all")
        yield* endpoint(busy, receiver.url("/healthy", "healthy.example"), "busy.all")
        yield* endpoint(neighbour, receiver.url("/ok", "neighbour.example"))
        const allowed = parseAllowedTargets("127.0.0.1,neighbour.example,healthy.example", true)
        yield* worker({ allowedTargets: Either.getOrThrow(allowed) }).pipe(
          Effect.provideService(NameSource, systemNames({ servers: [server], resolvConf: "/nowhere" }))
        )
        yield* publish(busy, 3, "busy.all")
        yield* until(
          Effect.sync(() => new Set(asked).size),
          (names) => names >= LOOKUPS
        )

        const began = yield* Clock.currentTimeMillis
        for (let n = 0; n < EVENTS; n++) yield* publish(neighbour)
        yield* until(statuses(neighbour), (all) => all.every((status) => status === "delivered"))

        assert.isBelow((yield* Clock.currentTimeMillis) - began, PROMPT_MS)
        assert.lengthOf(yield* attempts(neighbour), EVENTS)
        const failed = (yield* attempts(busy)).filter(({ failure_reason }) => failure_reason !== null)
        assert.isEmpty(failed.filter(({ url }) => url.includes("healthy")))
      })
    )
  }
)

describe("names", () => {
  const now = { at: 0 }
  const addresses = [{ address: "192.0.2.7", family: 4, ttl: 30 }]
  const ask = (names: Names, hostname: string, workspaceId = "wsp_1") =>
    new Promise<string>((resolve) =>
      names.lookup(workspaceId, 443)(hostname, { all: true }, (error, found) =>
        resolve(error === null ? JSON.stringify(found) : error.name)
      )
    )
  const counting = (resolve: Resolve) => {
    const asked: Array<string> = []
    const names = new Names({
      now: () => now.at,
      refuses: (address) => address.startsWith("10."),
      resolve: (hostname, callback) => {
        asked.push(hostname)
        resolve(hostname, callback)
      }
    })
    return { asked, names }
  }

  it("§3.4 refuses a workspace's look-ups beyond its limit for a second, and no other workspace's", async () => {
    const { asked, names } = counting((hostname, callback) => {
      if (hostname === "ok.example") callback(null, addresses)
    })
    for (let n = 0; n < LOOKUPS; n++) void ask(names, `n${n}.dead.example`)

    const beyond = [ask(names, "ok.example"), ask(names, "n99.dead.example")]
    const neighbour = await ask(names, "ok.example", "wsp_2")

    assert.include(neighbour, "192.0.2.7")
    assert.lengthOf(asked, LOOKUPS + 1)
    assert.deepStrictEqual(await Promise.all(beyond), ["NoTurn", "NoTurn"])
  })

  it("starts the next look-up of a workspace when one has ended", async () => {
    const open: Array<() => void> = []
    const { asked, names } = counting((_, callback) => void open.push(() => callback(null, addresses)))
    const all = Array.from({ length: LOOKUPS + 3 }, (_, n) => ask(names, `n${n}.example`))
    for (let end = open.shift(); end !== undefined; end = open.shift()) end()

    assert.notInclude(await Promise.all(all), "NoTurn")
    assert.lengthOf(asked, LOOKUPS + 3)
  })

  it.each([
    ["an answer for its TTL", addresses, 30_000],
    ["an answer for a minute at most", [{ ...addresses[0]!, ttl: 86_400 }], 60_000],
    ["a name without an address for 5 s", [], 5_000],
    ["a name with refused addresses as one without any", [{ address: "10.0.0.7", family: 4, ttl: 30 }], 5_000]
  ])("§2.8 remembers %s", async (_, found, ms) => {
    const { asked, names } = counting((_, callback) => callback(null, found))
    now.at = 0
    await ask(names, "some.example")
    now.at = ms - 1
    await ask(names, "some.example")
    assert.lengthOf(asked, 1)
    now.at = ms
    await ask(names, "some.example")
    assert.lengthOf(asked, 2)
  })
})

describe("the system's names", () => {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-names-"))
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const hosts = file(
    "hosts",
    "127.0.0.9 Printer.example printer # 1.2.3.4 no\n::1\tprinter\nnonsense printer\n"
  )
  const find = (sources: Sources, hostname: string) =>
    new Promise<string>((resolve) =>
      systemNames({ hosts, ...sources })(hostname, (error, found) =>
        resolve(error?.code ?? found.map(({ address, ttl }) => `${address} ${ttl}`).join(", "))
      )
    )

  it.each([
    ["printer", "127.0.0.9 5, ::1 5"],
    ["printer.example", "127.0.0.9 5"],
    ["localhost", "127.0.0.1 5, ::1 5"],
    ["a.localhost", "127.0.0.1 5, ::1 5"]
  ])("§3.4 finds %s without asking anybody", async (hostname, found) =>
    assert.strictEqual(await find({ servers: ["127.0.0.1:1"] }, hostname), found)
  )

  it.scopedLive("§3.4 searches as the C library does, and gives up a silent name at its deadline", () =>
    Effect.gen(function* () {
      const { asked, server } = yield* nameServer({
        "db.corp.example": { address: "10.0.0.7", ttl: 9 },
        "a.b.example": { address: "192.0.2.1", ttl: 8 }
      })
      const servers = [server]
      const resolvConf = file("resolv.conf", "search lab.example corp.example\noptions timeout:1 ndots:2\n")
      const ask = (hostname: string, deadlineMs = 5_000) =>
        Effect.map(
          Effect.promise(() => find({ servers, resolvConf, deadlineMs }, hostname)),
          (answer) => ({ answer, names: [...new Set(asked.splice(0))] })
        )

      assert.deepStrictEqual(yield* ask("db"), {
        answer: "10.0.0.7 9",
        names: ["db.lab.example", "db.corp.example"]
      })
      assert.deepStrictEqual(yield* ask("a.b.example"), { answer: "192.0.2.1 8", names: ["a.b.example"] })
      assert.deepStrictEqual(yield* ask("db."), { answer: "ENOTFOUND", names: ["db"] })
      assert.deepStrictEqual(yield* ask("x.dead.example", 300), {
        answer: "ECANCELLED",
        names: ["x.dead.example"]
      })
    })
  )
})
