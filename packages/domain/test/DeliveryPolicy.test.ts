import { assert, describe, it } from "@effect/vitest"
import { DeliveryPolicy, resolve, waitsOf } from "@posthorn/domain/DeliveryPolicy"
import { Arbitrary, Either, Schema } from "effect"

const defaults = { retryDelayMs: 30_000, requestTimeoutMs: 10_000 }

const decode = Schema.decodeUnknownEither(DeliveryPolicy)

describe("DeliveryPolicy", () => {
  it("§3.5 equals the source document's where nothing is set", () => {
    assert.deepStrictEqual(resolve(null, null, defaults), {
      retries: { kind: "standard" },
      jitter: 0,
      honorRetryAfter: false,
      timeoutSeconds: 10,
      rateLimit: null,
      disableAfter: { kind: "failures", count: 20 },
      onGone: "fail",
      givesUpAfterSeconds: 630
    })
  })

  it("§3.5 gives a policy no longer timeout than the installation allows, and the installation its own", () => {
    const timeout = (own: number, requestTimeoutMs = 10_000) =>
      resolve({ timeoutSeconds: own }, null, { ...defaults, requestTimeoutMs, mostTimeoutMs: 20_000 })
        .timeoutSeconds

    assert.deepStrictEqual([timeout(5), timeout(60), timeout(60, 30_000)], [5, 20, 30])
  })

  it("§3.5 takes members that an endpoint leaves out from its workspace, and nothing else", () => {
    const workspace: DeliveryPolicy = {
      retries: { kind: "patient" },
      jitter: 0.2
    }

    const policy = resolve({ retries: { kind: "none" } }, workspace, defaults)

    assert.strictEqual(policy.jitter, 0.2)
    assert.deepStrictEqual(policy.retries, { kind: "none" })
    assert.strictEqual(policy.givesUpAfterSeconds, 0)
  })

  it("§3.5 lets an endpoint be without a rate in a workspace that has one", () => {
    const workspace: DeliveryPolicy = { rateLimit: { requests: 5, perSeconds: 60 } }

    assert.deepStrictEqual(resolve({}, workspace, defaults).rateLimit, workspace.rateLimit)
    assert.isNull(resolve({ rateLimit: null }, workspace, defaults).rateLimit)
  })

  it("§3.5 waits as its retries say", () => {
    const seconds = (retries: Parameters<typeof waitsOf>[0]) =>
      waitsOf(retries, defaults).map((ms) => ms / 1_000)

    assert.deepStrictEqual(seconds({ kind: "standard" }), [30, 60, 90, 120, 150, 180])
    assert.deepStrictEqual(seconds({ kind: "patient" }), [
      5,
      5 * 60,
      30 * 60,
      2 * 3_600,
      5 * 3_600,
      10 * 3_600,
      14 * 3_600,
      20 * 3_600,
      24 * 3_600
    ])
    assert.deepStrictEqual(seconds({ kind: "waits", seconds: [1, 604_800] }), [1, 604_800])
    assert.deepStrictEqual(seconds({ kind: "none" }), [])
  })

  it("§3.5 gives up after the sum of the waits", () => {
    const givesUpAfter = (policy: DeliveryPolicy) => resolve(policy, null, defaults).givesUpAfterSeconds

    assert.strictEqual(givesUpAfter({ retries: { kind: "patient" }, jitter: 0.5 }), 272_105)
    assert.strictEqual(givesUpAfter({ retries: { kind: "waits", seconds: [1, 2, 3] } }), 6)
  })

  it("§3.5 accepts every member within its bounds, and none beyond", () => {
    const most = 2_592_000
    const taken: ReadonlyArray<unknown> = [
      {},
      { retries: { kind: "waits", seconds: Array(20).fill(1) } },
      { retries: { kind: "waits", seconds: [604_800, 604_800, 604_800, 604_800, most - 4 * 604_800] } },
      { jitter: 0.5 },
      { timeoutSeconds: 60 },
      { rateLimit: null },
      { rateLimit: { requests: 1, perSeconds: 3_600 } },
      { rateLimit: { requests: 10_000, perSeconds: 1 } },
      { disableAfter: { kind: "failing_for", seconds: 3_600 } },
      { disableAfter: { kind: "never" } },
      { onGone: "disable" }
    ]
    const refused: ReadonlyArray<unknown> = [
      { retries: { kind: "waits", seconds: [] } },
      { retries: { kind: "waits", seconds: Array(21).fill(1) } },
      { retries: { kind: "waits", seconds: [604_801] } },
      { retries: { kind: "waits", seconds: [1.5] } },
      { retries: { kind: "waits", seconds: [604_800, 604_800, 604_800, 604_800, most - 4 * 604_800 + 1] } },
      { retries: { kind: "standard", seconds: [1] } },
      { retries: { kind: "often" } },
      { retries: null },
      { jitter: 0.51 },
      { jitter: -0.1 },
      { timeoutSeconds: 0 },
      { timeoutSeconds: 61 },
      { rateLimit: {} },
      { rateLimit: { requests: 1 } },
      { rateLimit: { requests: 0, perSeconds: 1 } },
      { rateLimit: { requests: 10_001, perSeconds: 1 } },
      { rateLimit: { requests: 1, perSeconds: 3_601 } },
      { rateLimit: { requests: 1, perSeconds: 0 } },
      { rateLimit: { requests: 1.5, perSeconds: 1 } },
      { rateLimit: { requests: 1, perSeconds: 1, burst: 2 } },
      { disableAfter: { kind: "failures", count: 1_001 } },
      { disableAfter: { kind: "failing_for", seconds: 3_599 } },
      { onGone: "retry" },
      { speed: 1 }
    ]

    assert.deepStrictEqual(
      taken.filter((policy) => Either.isLeft(decode(policy))),
      []
    )
    assert.deepStrictEqual(
      refused.filter((policy) => Either.isRight(decode(policy))),
      []
    )
  })

  it.prop(
    "§3.5 resolves any policies to one with every member",
    [Arbitrary.make(DeliveryPolicy), Arbitrary.make(DeliveryPolicy)],
    ([endpoint, workspace]) => {
      const policy = resolve(endpoint, workspace, defaults)

      assert.deepInclude(policy, endpoint)
      assert.isAtMost(policy.givesUpAfterSeconds, 2_592_000)
    }
  )
})
