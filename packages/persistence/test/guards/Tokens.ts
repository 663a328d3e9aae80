/** Statements of repositories: which token is touched and revoked, and which link and session is opened and ended. */
import assert from "node:assert/strict"
import { WHOLE_CONSOLE } from "@posthorn/domain/ConsoleView"
import { newId } from "@posthorn/domain/Ids"
import { Effect } from "effect"
import { ApiTokensRepo } from "../../src/repositories/ApiTokensRepo.ts"
import { ConsoleRepo, type Grant } from "../../src/repositories/ConsoleRepo.ts"
import { type Stage, writeScenarios } from "./Stage.ts"
import { changesNothing, changesOnly, twinOf } from "./Twin.ts"

const token = async (
  stage: Stage,
  workspace: string,
  made: { readonly by?: string; readonly inSession?: string } = {}
) => {
  const id = newId("token")
  await stage.rows(
    `insert into posthorn.api_tokens (workspace_id, id, name, scopes, secret_hash, parent_id, session_id)
     values ($1, $2, 'x', '{read}', sha256('x'), $3, $4)`,
    workspace,
    id,
    made.by ?? null,
    made.inSession ?? null
  )
  return id
}

const GRANT: Grant = {
  tokenId: null,
  memberId: null,
  permissions: null,
  sessionId: null,
  operatorEpoch: null,
  madeBy: { type: "operator", id: "operator" },
  root: { type: "operator", id: "operator" },
  view: WHOLE_CONSOLE
}

/** 32 bytes, like a hash. */
const hash = (n: number) => Buffer.alloc(32, n)

const expire = (stage: Stage, table: string, id: string) =>
  stage.rows(`update posthorn.${table} set expires_at = now() - interval '1 minute' where id = $1`, id)

const idsIn = async (stage: Stage, table: string) =>
  (await stage.rows(`select id from posthorn.${table} order by id`)).map(({ id }) => id)

const scenarios = writeScenarios((it) => {
  it("ApiTokensRepo.ts touch: the use of a token is stored once a minute, for this token of this workspace only", async (stage) => {
    const [acme, other] = [await stage.workspace("acme"), await stage.workspace("other")]
    const [one] = [await token(stage, acme), await token(stage, acme)]
    const tokens = await stage.repos.get(ApiTokensRepo)
    const touch = (workspace: string) => () => stage.repos.run(tokens.touch(workspace, one))
    await changesNothing(stage, "api_tokens", touch(other))
    await changesOnly(stage, "api_tokens", acme, one, touch(acme))
    // At a time that falls neither into this minute nor into the next.
    await stage.rows(
      "update posthorn.api_tokens set last_used_at = now() + interval '1 hour' where id = $1",
      one
    )
    await changesNothing(stage, "api_tokens", touch(acme))
    await stage.rows(
      "update posthorn.api_tokens set last_used_at = now() - interval '1 hour' where id = $1",
      one
    )
    await changesOnly(stage, "api_tokens", acme, one, touch(acme))
  })

  it("ApiTokensRepo.ts revokeFrom: a token is revoked once, with its descendants if asked for, and without tokens that others made", async (stage) => {
    const [acme, other] = [await stage.workspace("acme"), await stage.workspace("other")]
    const one = await token(stage, acme)
    const child = await token(stage, acme, { by: one })
    const grandchild = await token(stage, acme, { by: child })
    await token(stage, acme)
    // A token made by one of another workspace, and a token that it made here.
    const foreign = await token(stage, other, { by: one })
    await token(stage, acme, { by: foreign })
    const tokens = await stage.repos.get(ApiTokensRepo)
    const revoke = async (workspace: string, descendants: boolean) =>
      (await stage.repos.run(tokens.revoke(workspace, one, descendants))).map(({ id }) => id)
    assert.deepEqual(await revoke(other, true), [])
    assert.deepEqual(await revoke(acme, false), [one])
    assert.deepEqual(await revoke(acme, false), [])
    assert.deepEqual(await revoke(acme, true), [child, grandchild])
    assert.deepEqual(await revoke(acme, true), [])
  })

  it("ApiTokensRepo.ts revokeMadeIn: the tokens that were made in a session are revoked with their descendants, in its own workspace", async (stage) => {
    const [acme, other] = [await stage.workspace("acme"), await stage.workspace("other")]
    const made = await token(stage, acme, { inSession: "ses_0" })
    const child = await token(stage, acme, { by: made })
    await token(stage, acme, { inSession: "ses_1" })
    await token(stage, other, { inSession: "ses_0" })
    const tokens = await stage.repos.get(ApiTokensRepo)
    const revoked = await stage.repos.run(tokens.revokeMadeIn(acme, ["ses_0"]))
    assert.deepEqual(
      revoked.map(({ id }) => id),
      [made, child]
    )
  })

  it("ConsoleRepo.ts insertLink, ConsoleRepo.ts insertSession: a new link removes expired links of its workspace, a new session ended sessions, and no others", async (stage) => {
    const [acme, other] = [await stage.workspace("acme"), await stage.workspace("other")]
    const console = await stage.repos.get(ConsoleRepo)
    const link = (workspace: string, n: number) =>
      stage.repos.run(
        console.insertLink(workspace, { ...GRANT, id: `lnk_${n}`, codeHash: hash(n), lifeMs: 60_000 })
      )
    const session = (workspace: string, n: number) =>
      stage.repos.run(
        console.insertSession(workspace, { ...GRANT, id: `ses_${n}`, secretHash: hash(n), via: "link" })
      )
    for (const [n, workspace] of [acme, acme, other].entries()) {
      await link(workspace, n)
      await session(workspace, n)
    }
    for (const n of [1, 2]) {
      await expire(stage, "console_links", `lnk_${n}`)
      await expire(stage, "console_sessions", `ses_${n}`)
    }
    await link(acme, 3)
    await session(acme, 3)
    assert.deepEqual(await idsIn(stage, "console_links"), ["lnk_0", "lnk_2", "lnk_3"])
    assert.deepEqual(await idsIn(stage, "console_sessions"), ["ses_0", "ses_2", "ses_3"])
  })

  it("ConsoleRepo.ts takeLink: a link works in its own workspace, once, and leaves other links alone", async (stage) => {
    const console = await stage.repos.get(ConsoleRepo)
    const [acme, other] = [await stage.workspace("acme"), await stage.workspace("other")]
    for (const [n, workspace] of [acme, other].entries())
      await stage.repos.run(
        console.insertLink(workspace, { ...GRANT, id: `lnk_${n}`, codeHash: hash(n), lifeMs: 60_000 })
      )
    const take = (workspace: string, n: number) => stage.repos.run(console.takeLink(workspace, hash(n)))
    assert.equal(await take(acme, 9), false)
    assert.equal(await take(acme, 1), false)
    assert.equal(await take(other, 1), true)
    assert.equal(await take(other, 1), false)
    assert.equal(await take(acme, 0), true)
  })

  it("ConsoleRepo.ts touch, ConsoleRepo.ts end: only this session of this workspace is touched and ended, once", async (stage) => {
    const acme = await stage.workspace()
    const console = await stage.repos.get(ConsoleRepo)
    for (const n of [0, 1])
      await stage.repos.run(
        console.insertSession(acme, { ...GRANT, id: `ses_${n}`, secretHash: hash(n), via: "link" })
      )
    const twin = await twinOf(stage, acme, "console_sessions")
    for (const workspace of [acme, twin])
      for (const act of [console.touch, console.end])
        await changesOnly(stage, "console_sessions", workspace, "ses_0", () =>
          stage.repos.run(Effect.asVoid(act(workspace, "ses_0")))
        )
    await changesNothing(stage, "console_sessions", () => stage.repos.run(console.end(acme, "ses_0")))
  })

  it("ConsoleRepo.ts end: ending a session ends the sessions that its links opened, and removes the links, in its own workspace", async (stage) => {
    const [acme, other] = [await stage.workspace("acme"), await stage.workspace("other")]
    const console = await stage.repos.get(ConsoleRepo)
    for (const workspace of [acme, other])
      for (const [n, sessionId] of [null, "ses_0", "ses_1", null].entries()) {
        const grant = { ...GRANT, sessionId }
        await stage.repos.run(
          console.insertSession(workspace, { ...grant, id: `ses_${n}`, secretHash: hash(n), via: "link" })
        )
        const codeHash = hash(workspace === acme ? n : n + 10)
        await stage.repos.run(
          console.insertLink(workspace, { ...grant, id: `lnk_${n}`, codeHash, lifeMs: 60_000 })
        )
      }
    const left = (table: string, workspace: string) =>
      stage.rows(`select id from posthorn.${table} where workspace_id = $1 order by id`, workspace)
    await stage.repos.run(console.end(acme, "ses_1"))
    const ended = await stage.repos.run(console.end(acme, "ses_0"))
    assert.deepEqual(ended, [
      { id: "ses_0", wasOpen: true },
      { id: "ses_1", wasOpen: false },
      { id: "ses_2", wasOpen: false }
    ])
    assert.deepEqual(
      (await left("console_links", acme)).map(({ id }) => id),
      ["lnk_0", "lnk_3"]
    )
    assert.equal((await left("console_links", other)).length, 4)
    const open = "select workspace_id from posthorn.console_sessions where ended_at is null"
    assert.equal((await stage.rows(open)).length, 5)
  })
})

export const tokens = scenarios
