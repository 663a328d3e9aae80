/**
 * A list of texts as PostgreSQL's binary form of an array, which the driver passes on as it stands. In the textual form each
 * quote of a payload is escaped here and unescaped there: 3 us for an event of 500 bytes on either side.
 */

/** What PostgreSQL calls the type of the elements. */
const TYPES = { text: 25, json: 114 } as const

const HEAD_BYTES = 20
const LENGTH_BYTES = 4
const NULL = -1

/** One text of each item, to be written as `${textsOf(…, "json")}::json[]`. Of one item at least. */
export const textsOf = <A>(
  items: ReadonlyArray<A>,
  of: (item: A) => string | null,
  type: keyof typeof TYPES = "text"
): Buffer => {
  const texts = items.map(of)
  const lengths = texts.map((text) => (text === null ? NULL : Buffer.byteLength(text)))
  const size = lengths.reduce((sum, length) => sum + LENGTH_BYTES + Math.max(0, length), HEAD_BYTES)
  const array = Buffer.allocUnsafe(size)
  array.writeInt32BE(1, 0) // dimensions
  array.writeInt32BE(lengths.includes(NULL) ? 1 : 0, 4)
  array.writeInt32BE(TYPES[type], 8)
  array.writeInt32BE(texts.length, 12)
  array.writeInt32BE(1, 16) // the number of the first element
  let at = HEAD_BYTES
  for (const [n, text] of texts.entries()) {
    at = array.writeInt32BE(lengths[n]!, at)
    if (text !== null) at += array.write(text, at)
  }
  return array
}
