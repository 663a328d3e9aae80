/** The law of pauses judges by what receivers saw: which posts it counts as a worker's violations. */
import { expect, it } from "vitest"
import { pauses } from "./FairLaws.ts"
import type { Judged } from "./Judged.ts"

const RETRY_DELAY_MS = 80
const LAG_MS = 100
const TIMEOUT_MS = 2_500

/** Posts to one endpoint and their answers, by one worker; null means not delivered. */
const story = (
  lagMs: number,
  steps: ReadonlyArray<readonly [at: number, "post" | 200 | 503 | null]>
): Judged => {
  const of = (n: number) => `whd_${n}`
  const posts = steps.filter(([, what]) => what === "post")
  const answers = steps.filter(([, what]) => what !== "post")
  return {
    model: {
      facts: posts.map((_, n) => ({ kind: "published", at: 0, deliveryId: of(n), endpointId: "whe_1" })),
      endpoints: new Map(),
      deliveries: new Map(),
      queue: new Map(),
      notified: []
    },
    posts: posts.map(([at], n) => ({
      at,
      worker: 0,
      deliveryId: of(n),
      request: { url: "", body: "", headers: {} } as never
    })),
    answered: answers.map(([at, status], n) => ({
      at,
      worker: 0,
      deliveryId: of(n),
      status: status as number | null
    })),
    secrets: [],
    poison: null,
    retryDelayMs: RETRY_DELAY_MS,
    requestTimeoutMs: () => TIMEOUT_MS,
    graceMs: 0,
    reachMs: () => 0,
    repeatsOf: () => 0,
    lagMs: () => lagMs
  }
}

/** Five at once, of which one is delivered and then four are not; then two more at once, without a pause. */
const failuresAfter = (success: number, first: number) =>
  [
    ...Array.from({ length: 5 }, () => [0, "post"] as const),
    [success, 200],
    ...[0, 1, 2, 3].map((n) => [first + n, 503] as const),
    [first + LAG_MS + 50, "post"],
    [first + LAG_MS + 51, "post"]
  ] as const

it("§3.4 finds posts without a pause by a worker that has seen three failures in a row", () => {
  expect(pauses(story(0, failuresAfter(10, 11)))).not.toEqual([])
  expect(pauses(story(LAG_MS, failuresAfter(10, 10 + LAG_MS)))).not.toEqual([])
})

it("§3.4 accepts them when the worker may have read last a success that was answered at the same time", () => {
  expect(pauses(story(LAG_MS, failuresAfter(10, 11)))).toEqual([])
})

/** Three that fail, one that is given up and whose end is seen at `closed`, and one more at `next`. */
const givenUp = (next: number, closed: number) =>
  [
    ...[0, 100, 200].flatMap(
      (at) =>
        [
          [at, "post"],
          [at + 1, 503]
        ] as const
    ),
    [1_000, "post"],
    [closed, null],
    [next, "post"]
  ] as const

it("§3.4 a request is over when its worker gives it up, however late its receiver notices", () => {
  const next = 1_000 + TIMEOUT_MS + 20
  expect(pauses(story(LAG_MS, givenUp(next, next + 29)))).toEqual([])
  expect(pauses(story(LAG_MS, givenUp(next, next - 1)))).toEqual([])
})

it("§3.4 finds a second request while the worker still waits for the first, whenever that is closed", () => {
  const next = 1_000 + TIMEOUT_MS - LAG_MS - 1
  expect(pauses(story(LAG_MS, givenUp(next, 1_000 + TIMEOUT_MS)))).not.toEqual([])
})
