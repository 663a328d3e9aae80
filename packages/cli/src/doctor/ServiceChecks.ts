/** What surrounds the processes besides the database: their variables, Redis, the collector, and the proxy. Only without the proxy nothing is delivered. */
import { connect } from "node:net"
import type { Proxy } from "@posthorn/egress/Proxy"
import { askRedis } from "@posthorn/server/gate/RedisCounters"
import { Effect, Option, Redacted } from "effect"
import type { Settings } from "../settings/Settings.ts"
import { oddNodeEnv, unknownVariables } from "../settings/UnknownVariables.ts"
import { knownVariables } from "../settings/Variables.ts"
import { type Finding, warning, well, wrong } from "./Finding.ts"

const PATIENCE = "3 seconds"

export const variables = Effect.sync((): ReadonlyArray<Finding> => {
  const lines = [
    ...unknownVariables(Object.keys(process.env), knownVariables, "beside the right one"),
    ...oddNodeEnv(process.env.NODE_ENV)
  ]
  return lines.map((line) => warning("variables", "unknown_variable", line))
})

const redis = (url: Redacted.Redacted) =>
  askRedis(url).pipe(
    Effect.timeout(PATIENCE),
    Effect.match({
      onSuccess: () => well("redis", "redis", "answers"),
      onFailure: () =>
        warning(
          "redis",
          "redis_away",
          "REDIS_URL does not answer: each serve counts calls by itself until it does, so callers have their quota at each."
        )
    })
  )

const asked = (endpoint: string, headers: Settings["otlpHeaders"]) =>
  Effect.tryPromise((signal) =>
    fetch(`${endpoint}/v1/traces`, {
      method: "POST",
      body: '{"resourceSpans":[]}',
      headers: {
        "content-type": "application/json",
        ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, Redacted.value(value)]))
      },
      signal
    })
  )

/** It is sent a list of no spans. */
const collector = (endpoint: string, headers: Settings["otlpHeaders"]) =>
  asked(endpoint, headers).pipe(
    Effect.timeout(PATIENCE),
    Effect.match({
      onSuccess: ({ ok, status }) =>
        ok
          ? well("collector", "collector", "takes what it is sent")
          : warning(
              "collector",
              "collector_refuses",
              `OTEL_EXPORTER_OTLP_ENDPOINT answers ${status}: traces and meters are lost. Check it and OTEL_EXPORTER_OTLP_HEADERS.`
            ),
      onFailure: () =>
        warning(
          "collector",
          "collector_away",
          "OTEL_EXPORTER_OTLP_ENDPOINT does not answer: traces and meters are lost until it does."
        )
    })
  )

/** Whether it takes connections. It is not asked for one to somewhere: there is no address that it must allow. */
const proxyOf = ({ host, port }: Proxy) =>
  Effect.async<void, "away">((resume) => {
    const socket = connect({ host, port })
    socket.once("connect", () => resume(Effect.void)).once("error", () => resume(Effect.fail("away")))
    return Effect.sync(() => socket.destroy())
  }).pipe(
    Effect.timeout(PATIENCE),
    Effect.match({
      onSuccess: () => well("proxy", "proxy", "takes connections"),
      onFailure: () =>
        wrong(
          "proxy",
          "proxy_away",
          "DELIVERY_PROXY takes no connection: nothing is delivered until it does. Check its address, and that it runs."
        )
    })
  )

export const neighbours = ({ otlpEndpoint, otlpHeaders, proxy, redisUrl }: Settings) =>
  Effect.all(
    [
      ...Option.toArray(redisUrl).map(redis),
      ...Option.toArray(otlpEndpoint).map((at) => collector(at, otlpHeaders)),
      ...(proxy === null ? [] : [proxyOf(proxy)])
    ],
    { concurrency: "unbounded" }
  )
