/** Which failures mean that the database is unreachable, so that an observation is kept and recorded later. */
import { SqlError } from "@effect/sql/SqlError"
import { describe, expect, it } from "vitest"
import { isDatabaseAway } from "../../src/client/Statement.ts"

const failing = (code: string) =>
  new SqlError({ cause: Object.assign(new Error("failed"), { code }), message: "failed" })

describe("a failed statement", () => {
  it.each([
    ["28P01", "a password that is being changed"],
    ["28000", "a rule of pg_hba.conf that is being changed"],
    ["3D000", "a database that is being restored"],
    ["53100", "a full disk"],
    ["53300", "too many connections"],
    ["57P01", "a restart"],
    ["58030", "a disk that fails"],
    ["25006", "a standby that is not yet promoted"],
    ["55P03", "a lock that is held"],
    ["ECONNRESET", "a broken line"],
    ["EPIPE", "a broken pipe"],
    ["CERT_HAS_EXPIRED", "a certificate that is being changed"]
  ])("§3.4 %s means that the database is away: %s", (code) => {
    expect(isDatabaseAway(failing(code))).toBe(true)
  })

  it.each([
    ["22P05", "a character that cannot be stored"],
    ["23514", "a value that a check refuses"],
    ["54000", "a row that is too large"],
    ["XX001", "a damaged page, which must not stop all others"],
    ["PH404", "a refusal of our own"]
  ])("§3.4 %s is about the row: %s", (code) => {
    expect(isDatabaseAway(failing(code))).toBe(false)
  })
})
