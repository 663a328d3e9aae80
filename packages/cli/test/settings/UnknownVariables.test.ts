import { readdirSync, readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { oddNodeEnv, unknownVariables } from "../../src/settings/UnknownVariables.ts"
import { knownVariables } from "../../src/settings/Variables.ts"

const linesFor = (...names: ReadonlyArray<string>) => unknownVariables(names, knownVariables)

describe("unknown variables", () => {
  it.each([
    ["OPERATR_TOKEN", "OPERATOR_TOKEN"],
    ["ENCRYPTION_KEYS", "ENCRYPTION_KEY"],
    ["DATABASE_URI", "DATABASE_URL"],
    ["DELIVERY_RETRY_DELAYS", "DELIVERY_RETRY_DELAY"],
    ["DELIVERY_ALLOWED_TARGET", "DELIVERY_ALLOWED_TARGETS"],
    ["RATE_LIMIT_REST_READS", "RATE_LIMIT_REST_READ"],
    ["WORKER_CONCURRENCY", "WORKER_MAX_CONCURRENCY"],
    ["POSTHORN_TOKENS", "POSTHORN_TOKEN"]
  ])("§10 %s brings up %s", (name, meant) => {
    expect(linesFor(name)).toEqual([
      `${name} is set, but Posthorn knows no such variable: did you mean ${meant}?`
    ])
  })

  it("§10 says where the known ones are listed when none is similar", () => {
    expect(linesFor("DELIVERY_COLOUR")).toEqual([
      "DELIVERY_COLOUR is set, but Posthorn knows no such variable: see docs/settings.md for those it knows"
    ])
  })

  it("§10 leaves other programs' variables alone", () => {
    const others = [
      "PATH",
      "HOME",
      "HOSTNAME",
      "PORTS",
      "LOG_FILE",
      "PGHOST",
      "REDIS_HOST",
      "npm_config_cache"
    ]
    const kubernetes = ["POSTHORN_SERVICE_HOST", "POSTHORN_SERVICE_PORT_HTTP", "POSTHORN_PORT_8484_TCP_ADDR"]

    expect(linesFor(...others, ...kubernetes, ...knownVariables)).toEqual([])
    expect(linesFor("DATABASE_URL", "DATABASE_URI"), "another program's, beside ours").toEqual([])
  })

  it("§10 knows each variable that its own commands read", () => {
    const source = new URL("../../src/", import.meta.url)
    const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((name) =>
      name.endsWith(".ts")
    )
    const read = files.flatMap(
      (name) => readFileSync(new URL(name, source), "utf8").match(/(?<=")POSTHORN_[A-Z]+(?=")/g) ?? []
    )

    expect(new Set(read)).toEqual(new Set(["POSTHORN_URL", "POSTHORN_TOKEN", "POSTHORN_WORKSPACE"]))
    expect(linesFor(...read)).toEqual([])
  })

  it("§10 warns of a NODE_ENV that is almost production", () => {
    expect(oddNodeEnv("prod")).toEqual([
      'NODE_ENV is "prod", which means nothing to Posthorn: did you mean production?'
    ])
    for (const fine of [undefined, "", "production", "development", "test"])
      expect(oddNodeEnv(fine)).toEqual([])
  })
})
