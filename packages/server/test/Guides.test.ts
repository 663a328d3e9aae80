import { expect, layer } from "@effect/vitest"
import { entries } from "@posthorn/api-contract/Walk"
import { FAILURE_LIMIT, MAX_RETRIES } from "@posthorn/domain/Verdict"
import { Effect } from "effect"
import { describe, it as test } from "vitest"
import { stateMachineText } from "../src/guides/StateMachine.ts"
import { BASE_URL, TestServer, testServer } from "./TestServer.ts"

describe("the delivery state machine in words", () => {
  test("is docs/state-machine.md, to the letter (vitest -u writes it)", async () => {
    await expect(stateMachineText).toMatchFileSnapshot("../../../docs/state-machine.md")
  })

  test("§3.1 and §8 names every status, the retries and the limit as the rules have them", () => {
    for (const status of ["pending", "delivered", "failed", "failed_permanent", "dead_lettered"]) {
      expect(stateMachineText).toContain(`| \`${status}\` |`)
    }
    expect(stateMachineText).toContain(`${MAX_RETRIES} retries, 30, 60, 90, 120, 150, 180 seconds`)
    expect(stateMachineText).toContain(`At ${FAILURE_LIMIT} in a row`)
  })
})

layer(testServer(), { excludeTestServices: true })("/llms.txt", (it) => {
  it.effect("says how to connect, and lists every operation with its tool", () =>
    Effect.gen(function* () {
      const { call } = yield* TestServer

      const { headers, status, text } = yield* call("GET", "/llms.txt")

      expect([status, headers.get("content-type")]).toEqual([200, "text/plain; charset=utf-8"])
      expect(text).toContain(`${BASE_URL}/mcp`)
      expect(text).toContain("posthorn mcp")
      for (const { rules } of entries)
        if (rules.tool !== null) expect(text).toContain(`tool \`${rules.tool}\``)
      expect(text.match(/^- .+ · permission /gm)).toHaveLength(entries.length)
    })
  )
})
