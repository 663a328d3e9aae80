/**
 * Reads past 1xx answers, and counts what a receiver sends, before the HTTP parser sees the bytes.
 *
 * Why here: undici 7.30 treats an unexpected `100 Continue` as a broken connection, so the request would count as a failure
 * although a 200 follows. RFC 9110 §15.2 requires clients to skip interim answers, however many. 101 is left to the parser: it
 * ends HTTP.
 *
 * The count bounds what a receiver can make us parse, such as endless interim answers, reason phrases or chunk extensions.
 * Above `ANSWER_LIMIT_BYTES`, or where one interim answer is too long, the exchange
 * ends. The count also shows whether any byte arrived.
 */
const ANSWER_LIMIT_BYTES = 1024 * 1024

/** Of one interim answer. */
const INTERIM_LIMIT_BYTES = 8192
/** "HTTP/1.1 100 ": enough to tell an interim answer from a final one. */
const STATUS_LINE_START = 13
const ONE = 0x31
const INTERIM = /^HTTP\/1\.[01] 1(?!01)\d\d[ \r\n]/

export class InterimAnswers {
  /** Bytes received since `begin`. */
  received = 0
  private held: Buffer | null = null
  private final = false
  private isTooLong = false

  begin(): void {
    this.received = 0
    this.held = null
    this.final = false
    this.isTooLong = false
  }

  /** Whether the receiver has sent more than a status and a short body need. */
  get tooMuch(): boolean {
    return this.isTooLong || this.received > ANSWER_LIMIT_BYTES
  }

  /** The part of `chunk` that the parser may see: all of it once the final answer has begun; null for nothing yet. */
  pass(chunk: Buffer): Buffer | null {
    this.received += chunk.length
    if (this.final) return chunk
    let rest = this.held === null ? chunk : Buffer.concat([this.held, chunk])
    this.held = null
    while (isInterim(rest)) {
      const end = rest.indexOf("\r\n\r\n")
      if (end === -1) return this.hold(rest)
      rest = rest.subarray(end + 4)
      if (rest.length === 0) return null
    }
    return rest.length < STATUS_LINE_START && mayBeInterim(rest) ? this.hold(rest) : this.end(rest)
  }

  private hold(rest: Buffer): null {
    this.isTooLong = rest.length > INTERIM_LIMIT_BYTES
    this.held = rest
    return null
  }

  private end(rest: Buffer): Buffer {
    this.final = true
    return rest
  }
}

/** The second test is cheap, and a final answer fails it. So the pattern never runs on final answers. */
const isInterim = (bytes: Buffer): boolean =>
  bytes.length >= STATUS_LINE_START &&
  bytes[9] === ONE &&
  INTERIM.test(bytes.toString("latin1", 0, STATUS_LINE_START))

const mayBeInterim = (bytes: Buffer): boolean => {
  const text = bytes.toString("latin1")
  return "HTTP/1.1 1".startsWith(text.slice(0, 10)) || "HTTP/1.0 1".startsWith(text.slice(0, 10))
}
