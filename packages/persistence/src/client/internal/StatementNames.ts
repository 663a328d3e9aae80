/**
 * Names for the statements that a process sends often. A connection parses a named statement once, and PostgreSQL may keep
 * its plan: both take longer than most of our statements (docs/adr/0014-cost-of-a-delivery.md).
 *
 * A text has a name when it is sent for the fifth time. The name is made from the text: sessions of other processes never have
 * another statement of the same name. Texts vary with a list's filters, so a connection prepares at most `PREPARED`.
 */
import { createHash } from "node:crypto"

const PREPARED = 100
const OFTEN = 5
/** Texts that are known; beyond it, counting begins anew. */
const KNOWN = 1_000

interface Text {
  count: number
  /** Empty until the text has been sent often. */
  name: string
}

const texts = new Map<string, Text>()

const nameOf = (sent: string): string => {
  let text = texts.get(sent)
  if (text === undefined) {
    if (texts.size >= KNOWN) texts.clear()
    text = { count: 0, name: "" }
    texts.set(sent, text)
  }
  text.count += 1
  if (text.count === OFTEN) text.name = `posthorn ${createHash("sha256").update(sent).digest("base64url")}`
  return text.name
}

/** The names that one connection prepares. Empty for a statement that it sends without a name. */
export const makeNames = () => {
  const prepared = new Set<string>()
  return (text: string): string => {
    const name = nameOf(text)
    if (name === "" || prepared.has(name)) return name
    if (prepared.size >= PREPARED) return ""
    prepared.add(name)
    return name
  }
}
