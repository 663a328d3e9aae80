import { expect, layer } from "@effect/vitest"
import { entries } from "@posthorn/api-contract/Contract"
import { FAILURE_LIMIT, MAX_RETRIES } from "@posthorn/domain/DeliveryPolicy"
import { Effect } from "effect"
import { describe, it as test } from "vitest"
import { stateMachineText } from "../../src/guides/StateMachine.ts"
import { getPrompt, listedPrompts } from "../../src/mcp/Prompts.ts"
import { tools } from "../../src/mcp/Tools.ts"
import { BASE_URL, TestServer, testServer } from "../TestServer.ts"

describe("the delivery state machine in words", () => {
  test("§4.7 is docs/state-machine.md, to the letter (vitest -u writes it)", async () => {
    await expect(stateMachineText).toMatchFileSnapshot("../../../../docs/state-machine.md")
  })

  test("§3.1 and §8 names every status, the retries and the limit as the rules define them", () => {
    for (const status of ["pending", "delivered", "failed", "failed_permanent", "dead_lettered"]) {
      expect(stateMachineText).toContain(`| \`${status}\` |`)
    }
    expect(stateMachineText).toContain(`${MAX_RETRIES} retries, 30, 60, 90, 120, 150, 180 seconds`)
    expect(stateMachineText).toContain(`At ${FAILURE_LIMIT} in a row`)
  })
})

describe("the prompts", () => {
  test("§4.7 name only tools that exist, and arguments that they have", async () => {
    const known = new Set(
      tools.flatMap(({ listedForOperator: { inputSchema, name } }) => [
        name,
        ...Object.keys(inputSchema.properties)
      ])
    )

    for (const { name, arguments: wanted } of listedPrompts) {
      const args = Object.fromEntries(wanted.map((argument) => [argument.name, "x"]))
      const { messages } = await Effect.runPromise(getPrompt(name, args))
      const named = [...messages[0]!.content.text.matchAll(/`([a-zA-Z_]+)(?:: [^`]*)?`/g)].map(
        ([, each]) => each!
      )

      expect(named.filter((each) => each !== "pending" && !known.has(each))).toEqual([])
    }
  })
})

layer(testServer(), { excludeTestServices: true })("/llms.txt", (it) => {
  it.effect("§4.7 says how to connect, and lists every operation with its tool", () =>
    Effect.gen(function* () {
      const { call } = yield* TestServer

      const { headers, status, text } = yield* call("GET", "/llms.txt")

      expect([status, headers.get("content-type")]).toEqual([200, "text/plain; charset=utf-8"])
      expect(text).toContain(`${BASE_URL}/mcp`)
      expect(text).toContain("posthorn mcp")
      for (const { rules } of entries) expect(text).toContain(`tool \`${rules.tool}\``)
      expect(text.match(/^- .+ · permission /gm)).toHaveLength(entries.length)
    })
  )
})
