/**
 * Names for the statements that a process sends often. A connection parses a named statement once, and PostgreSQL may keep
 * its plan: both take longer than most of our statements (docs/adr/0014-cost-of-a-delivery.md).
 *
 * A text gets its name when it is sent for the fifth time. At most `NAMED` texts get one, so a connection keeps no more. The
 * name is made from the text: sessions of other processes never have another statement of the same name.
 */
import { createHash } from "node:crypto"

const NAMED = 100
const OFTEN = 5
/** Texts that are counted; beyond it, counting begins anew. */
const COUNTED = 1_000

const names = new Map<string, string>()
const counts = new Map<string, number>()

/** `undefined` for a statement that stays unnamed. */
export const nameOf = (text: string): string | undefined => {
  const name = names.get(text)
  if (name !== undefined || names.size >= NAMED) return name
  if (counts.size >= COUNTED) counts.clear()
  const count = (counts.get(text) ?? 0) + 1
  counts.set(text, count)
  if (count < OFTEN) return undefined
  const made = `posthorn ${createHash("sha256").update(text).digest("base64url")}`
  names.set(text, made)
  counts.delete(text)
  return made
}
