/**
 * Every path has a bound: what one caller, tenant or stranger tries at its worst must cost the others next to nothing.
 *
 * Everything is derived from what `serve` says of itself, so a new operation is tried without a line here. Judged while it is tried:
 * how long the event loops of `serve` and `work` stand still, their memory, another workspace's publishes and arrivals, and how
 * long a statement runs. A case that fails is tried again: a loaded machine may stall by itself.
 */
import { expect, layer } from "@effect/vitest"
import { TestPg } from "@posthorn/testkit/TestPg"
import { untilAsked } from "@posthorn/testkit/Until"
import { Effect } from "effect"
import { OPERATOR_TOKEN } from "../processes/ServeProcess.ts"
import { type Attempt, call, httpAttempts, Ids, mcpAttempts, together, type World } from "./Doors.ts"
import { flood, write } from "./Flood.ts"
import { receiverFailing } from "./HostileReceivers.ts"
import { type Case, installation } from "./Installation.ts"
import { knownFor } from "./WorstInputs.ts"

const AT_ONCE = 16
const FOR_MS = 250
/** Rows of each kind, as a page has at most. */
const ROWS = 200
const FILL_MS = 800

/** Pages that need no token. */
const OPEN = [
  "/",
  "/.well-known/oauth-protected-resource",
  "/console",
  "/console/session",
  "/health/live",
  "/health/ready",
  "/llms-full.txt",
  "/llms.txt",
  "/metrics",
  "/openapi.json",
  "/reference"
]

const get = (path: string, headers: Readonly<Record<string, string>> = {}) => ({
  method: "GET",
  path,
  headers
})

const openCases = (url: string, slug: string, token: string): ReadonlyArray<Case> => {
  const many = { atOnce: 64, forMs: FOR_MS, most: 6_400 }
  const post = (path: string, body: string) => ({
    method: "POST",
    path,
    body,
    headers: { "content-type": "application/json", "sec-fetch-site": "same-origin" }
  })
  const pipelined = (request: string) => request.repeat(Math.ceil(65_536 / request.length))
  return [
    ...OPEN.map((path) => ({ name: `open ${path}`, try: () => flood(url, () => get(path), many) })),
    {
      name: "open a key set",
      try: () => flood(url, () => get(`/workspaces/${slug}/.well-known/jwks.json`), many)
    },
    {
      name: "open key sets of nobody",
      try: () => flood(url, (n) => get(`/workspaces/nobody-${n}/.well-known/jwks.json`), many)
    },
    {
      name: "open signing in with a wrong code",
      try: () => flood(url, (n) => post("/console/session", `{"code":"${"x".repeat(500)}${n}"}`), many)
    },
    {
      name: "open signing in with a right token",
      try: () => flood(url, () => post("/console/session", JSON.stringify({ token })), many)
    },
    { name: "open no such path", try: () => flood(url, () => get(`/${"x".repeat(8_000)}`), many) },
    {
      name: "open a wrong token",
      try: () => flood(url, (n) => get("/caller", { authorization: `Bearer ${"x".repeat(500)}${n}` }), many)
    },
    {
      name: "open many headers",
      try: () =>
        flood(
          url,
          () => get("/caller", Object.fromEntries(Array.from({ length: 900 }, (_, n) => [`x-${n}`, "x"]))),
          many
        )
    },
    {
      name: "pipelined, no such path",
      try: () => write(url, pipelined("GET /x HTTP/1.1\r\n\r\n"), { atOnce: 10, forMs: 1_500 })
    },
    // Again: what one wave leaves behind must not add up.
    ...["pipelined, a key set", "pipelined, a key set again"].map((name) => ({
      name,
      try: () =>
        write(url, `GET /workspaces/${slug}/.well-known/jwks.json HTTP/1.1\r\n\r\n`.repeat(64), {
          atOnce: 100,
          forMs: 1_500
        })
    })),
    {
      name: "pipelined, never read",
      try: () =>
        write(url, pipelined("GET /openapi.json HTTP/1.1\r\n\r\n"), {
          atOnce: 10,
          forMs: 1_500,
          isReading: false
        })
    },
    {
      name: "a list, never read",
      try: () =>
        write(
          url,
          `GET /workspaces/${slug}/webhooks?limit=200 HTTP/1.1\r\nauthorization: Bearer ${token}\r\n\r\n`.repeat(
            8
          ),
          { atOnce: 32, forMs: 1_500, isReading: false }
        )
    }
  ]
}

/** Makes as many rows as a page has of whatever an operation makes. */
const fill = async (url: string, attempts: ReadonlyArray<Attempt>, ids: Ids) => {
  for (const { ask } of attempts.filter(({ makes }) => makes)) {
    const until = Date.now() + FILL_MS
    let n = 0
    const go = async () => {
      while (n < ROWS && Date.now() < until) {
        ids.learnFrom(await call(url, ask(++n + 3_000)))
      }
    }
    await Promise.all(Array.from({ length: 4 }, go))
  }
}

/** Learns ids of a delivery of the largest payload that was given up, and of the notification that says so. */
const deliver = async (url: string, token: string, receiverUrl: string, ids: Ids) => {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" }
  const ask = (method: string, path: string, body?: unknown) =>
    call(url, {
      method,
      path: `/workspaces/attacker${path}`,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body)
    })
  await ask("POST", "/webhooks", {
    url: receiverUrl,
    eventTypes: ["bounds.failed"],
    policy: { retries: { kind: "none" }, disableAfter: { kind: "never" } }
  })
  await ask("POST", "/events", { eventType: "bounds.failed", payload: "x".repeat(1_000_000) })
  for (const path of ["/webhooks/deliveries?status=dead_lettered&payload=omit", "/notifications"]) {
    const { body } = await untilAsked(
      () => ask("GET", path),
      (answer) => (answer.body as { items?: ReadonlyArray<unknown> }).items?.length === 1
    )
    const [{ id }] = (body as { items: [{ id: string }] }).items
    ids.learnFrom({ status: 200, body: { id } })
  }
}

/** Off where an operation is tried as often as one caller may: `Doors.ts` bounds how often. */
const BUCKETS = ["REST_READ", "REST_WRITE", "EVENT_PUBLISH", "ASSISTANT", "MCP"]

layer(TestPg, { excludeTestServices: true })("bounds", (it) => {
  it.scoped(
    "§7.1 nothing that a stranger tries costs a workspace",
    () =>
      Effect.gen(function* () {
        const { attacker, judge, url } = yield* installation(["REST_WRITE"])
        expect(yield* judge(openCases(url, "attacker", attacker.token))).toEqual([])
      }),
    600_000
  )

  it.scoped(
    "§7.1 nothing that a workspace tries at any door costs another",
    () =>
      Effect.gen(function* () {
        const { attacker, judge, receiverUrl, signIn, url } = yield* installation(BUCKETS)
        const failing = yield* receiverFailing
        const cases = yield* Effect.promise(async () => {
          const world: World = {
            url,
            slug: "attacker",
            spare: "spare",
            operatorToken: OPERATOR_TOKEN,
            token: attacker.token,
            cookie: await signIn(attacker.token),
            known: knownFor(receiverUrl)
          }
          const ids = new Ids([attacker.id])
          await deliver(url, attacker.token, failing.url, ids)
          const attempts = await httpAttempts(world, ids)
          await fill(url, attempts, ids)
          attempts.push(...(await mcpAttempts(world, ids)))
          return together(attempts).map(
            ({ ask, most, name }): Case => ({
              name,
              succeeds: true,
              try: async () => {
                world.cookie = await signIn(attacker.token)
                return flood(url, (n) => ask(n + 10_000), { atOnce: AT_ONCE, forMs: FOR_MS, most })
              }
            })
          )
        })
        expect(yield* judge(cases)).toEqual([])
      }),
    600_000
  )
})
