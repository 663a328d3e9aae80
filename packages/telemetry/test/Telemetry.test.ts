/** Meters as Prometheus reads them, recurring failures as people read them, and traces with ids known in advance. */
import { Effect, Logger, Option, TestClock, TestContext, Tracer } from "effect"
import { describe, expect, it } from "vitest"
import { collecting } from "../src/Collectors.ts"
import { counter, gauge, histogram } from "../src/Meters.ts"
import { freshText, makePrometheusText } from "../src/PrometheusText.ts"
import { inTrace, knowingTraces, SpanBudget } from "../src/Tracing.ts"
import { makeTrouble, reasonOf } from "../src/Trouble.ts"

const linesOf = async (name: string) =>
  (await Effect.runPromise(freshText)).split("\n").filter((line) => line.includes(name))

describe("meters", () => {
  it("§10 have their help and type, with labels escaped, each family once", async () => {
    const calls = counter("posthorn_test_calls_total", "Calls.\nWith a \\ in it.", ["how", "what"], [])
    calls.add(2, 'quo"ted', "back\\slash")
    calls.add(1, "new\nline", "x")
    calls.add(3, 'quo"ted', "back\\slash")

    expect(await linesOf("posthorn_test_calls_total")).toEqual([
      "# HELP posthorn_test_calls_total Calls.\\nWith a \\\\ in it.",
      "# TYPE posthorn_test_calls_total counter",
      'posthorn_test_calls_total{how="new\\nline",what="x"} 1',
      'posthorn_test_calls_total{how="quo\\"ted",what="back\\\\slash"} 5'
    ])
  })

  it("§10 counters start at 0, with every possible label", async () => {
    counter("posthorn_test_none_yet_total", "None yet.", ["how"], [["a"], ["b"]])
    counter("posthorn_test_nothing_yet_total", "Nothing yet.")

    const seen = [
      ...(await linesOf("posthorn_test_none_yet")),
      ...(await linesOf("posthorn_test_nothing_yet"))
    ]
    expect(seen.filter((line) => !line.startsWith("#"))).toEqual([
      'posthorn_test_none_yet_total{how="a"} 0',
      'posthorn_test_none_yet_total{how="b"} 0',
      "posthorn_test_nothing_yet_total 0"
    ])
  })

  it("§10 give histograms cumulative buckets in the order of their bounds, up to +Inf", async () => {
    const waits = histogram("posthorn_test_wait_seconds", "Waits.", [0.5, 2.5, 10], "of")
    for (const seconds of [0.1, 0.5, 3, 60]) waits.observe(seconds, "a")

    expect((await linesOf("posthorn_test_wait_seconds")).slice(2)).toEqual([
      'posthorn_test_wait_seconds_bucket{of="a",le="0.5"} 2',
      'posthorn_test_wait_seconds_bucket{of="a",le="2.5"} 2',
      'posthorn_test_wait_seconds_bucket{of="a",le="10"} 3',
      'posthorn_test_wait_seconds_bucket{of="a",le="+Inf"} 4',
      'posthorn_test_wait_seconds_count{of="a"} 4',
      'posthorn_test_wait_seconds_sum{of="a"} 63.6'
    ])
  })

  it("§10 gauges are computed when they are read", async () => {
    const size = gauge("posthorn_test_size", "Size.")
    let now = 7
    const read = Effect.scoped(
      Effect.zipRight(
        Effect.zipRight(
          collecting(Effect.die("one that fails is no other's loss")),
          collecting(Effect.sync(() => size.set(now)))
        ),
        Effect.promise(() => linesOf("posthorn_test_size "))
      )
    )

    expect(await Effect.runPromise(read)).toContain("posthorn_test_size 7")
    now = 8
    expect(await Effect.runPromise(read)).toContain("posthorn_test_size 8")
  })

  it("§10 are generated at most once a second, however many ask", async () => {
    const asked = counter("posthorn_test_asked_total", "Asked.")
    const text = await Effect.runPromise(makePrometheusText)
    const read = Effect.zipRight(
      Effect.sync(() => asked.add(1)),
      text
    )
    const texts = await Effect.runPromise(
      Effect.all(
        Array.from({ length: 50 }, () => read),
        { concurrency: 50 }
      )
    )
    expect(new Set(texts).size).toBe(1)
  })
})

describe("trouble", () => {
  it("is logged when it begins, once a minute, and when it is over", async () => {
    const said: Array<string> = []
    const logger = Logger.replace(
      Logger.defaultLogger,
      Logger.make(({ logLevel, message }) => void said.push(`${logLevel.label} ${message}`))
    )
    const trouble = makeTrouble("It cannot be read", "It can be read again")
    await Effect.gen(function* () {
      yield* trouble.over
      for (let second = 0; second < 90; second++) {
        yield* trouble.failed("no route to host")
        yield* TestClock.adjust("1 second")
      }
      yield* trouble.failed("once more")
      yield* trouble.over
      yield* TestClock.adjust("5 seconds")
      yield* trouble.over
      yield* trouble.over
      yield* trouble.failed("again")
    }).pipe(Effect.provide(logger), Effect.provide(TestContext.TestContext), Effect.runPromise)

    expect(said).toEqual([
      "WARN It cannot be read: no route to host",
      "WARN It cannot be read (61 times in 60 s): no route to host",
      "INFO It can be read again, after 95 s and 91 failures",
      "WARN It cannot be read: again"
    ])
  })

  it("has its reason on one line, with the causes, each once", () => {
    const cause = new Error("connect ECONNREFUSED")
    expect(
      reasonOf(new Error("Failed to connect", { cause: new Error("Failed to connect", { cause }) }))
    ).toBe("Failed to connect: connect ECONNREFUSED")
    expect(reasonOf("text")).toBe("text")
  })
})

describe("traces", () => {
  const made: Array<Tracer.Span> = []
  const inner = Tracer.make({
    span: (name, parent, context, links, startTime, kind) => {
      const span = {
        _tag: "Span",
        name,
        parent,
        context,
        links,
        kind,
        traceId: "drawn",
        spanId: "s1",
        sampled: true
      }
      const rest = { status: { _tag: "Started", startTime }, attributes: new Map(), end: () => undefined }
      const whole = {
        ...span,
        ...rest,
        attribute: () => undefined,
        event: () => undefined,
        addLinks: () => undefined
      }
      made.push(whole as unknown as Tracer.Span)
      return whole as unknown as Tracer.Span
    },
    context: (run) => run()
  })

  it("§7.1 have the id that was chosen before, as a root or beneath the caller's span", async () => {
    const tracer = knowingTraces(inner)
    const known = "4bf92f3577b34da6a3ce929d0e0e4736"
    const beneath = (parent: Tracer.AnySpan) =>
      tracer.span("call", Option.some(parent), parent.context, [], 0n, "server")

    expect(beneath(inTrace(known))).toMatchObject({ traceId: known, parent: Option.none() })
    expect(Option.getOrThrow(beneath(inTrace(known, "00f067aa0ba902b7")).parent).spanId).toBe(
      "00f067aa0ba902b7"
    )
  })

  it("§7.1 begin with a span id derived from the trace id", () => {
    const known = "4bf92f3577b34da6a3ce929d0e0e4736"
    const root = (kind: Tracer.SpanKind) =>
      knowingTraces(inner).span("call", Option.some(inTrace(known)), inTrace(known).context, [], 0n, kind)

    expect(root("server").spanId).toBe("a3ce929d0e0e4736")
    expect(root("client").spanId).toBe("s1")
  })

  it("are limited to a number per second", () => {
    const budget = new SpanBudget(3)
    const taken = (at: number) => Array.from({ length: 5 }, () => budget.take(at)).filter(Boolean).length
    expect([taken(1_000), taken(1_999), taken(2_000)]).toEqual([3, 0, 3])
  })
})
