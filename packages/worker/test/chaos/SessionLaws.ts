/** Laws of sessions and tokens, whatever broke while they were used. Source: spec §5.1 and §11. */
import { judgeEach, type NamedJudgement } from "./Judgement.ts"
import type { Read, Session } from "./Sessions.ts"

/** A token's rights are cached for this long: within a second its revocation is effective everywhere. */
const REVOKED_MS = 1_000

/** A server that is away, or no answer at all, is not a refusal. */
const isNoAnswer = (status: number | null) => status === null || status === 503

export const sessionLaws = (sessions: ReadonlyArray<Session>): Readonly<Record<string, NamedJudgement>> => {
  const reads = sessions
    .flatMap((session) => session.reads.map((read) => ({ ...read, session })))
    .filter(({ status }) => !isNoAnswer(status))
  const told = ({ began, by, session, status }: (typeof reads)[number], what: string) =>
    `a ${by} that ended by ${session.ends} was answered ${status} ${what} (${Math.round(began - session.over)} ms after its end)`
  const over = (of: string, by: Read["by"]) => {
    const isOver = ({ began, session }: (typeof reads)[number]) =>
      began > session.over + (by === "token" && session.ends === "revocation" ? REVOKED_MS : 0)
    const late = reads.filter((read) => read.by === by && isOver(read))
    return judgeEach(of, late, (read) => read.status !== 401 && told(read, "when it was over"))
  }
  return {
    "S1 a session that is over opens nothing": over("calls with a dead session", "cookie"),
    "S2 what lives is not refused": judgeEach(
      "calls while it lived",
      reads.filter(({ ended, session }) => ended < session.until),
      (read) => read.status !== 200 && told(read, "while it lived")
    ),
    "S3 a token that is over opens nothing": over("calls with a dead token", "token"),
    "S4 a code opens once": judgeEach(
      "codes used again",
      sessions.flatMap(({ codesUsedAgain }) => codesUsedAgain),
      (status) => !isNoAnswer(status) && status !== 401 && `a code that was used was answered ${status}`
    )
  }
}
