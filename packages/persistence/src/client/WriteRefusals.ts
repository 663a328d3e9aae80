/**
 * The last write that PostgreSQL refused although it answers: on a full disk, transactions that only read succeed. Kept for
 * each database of this process, from the refusal until a write succeeds (`operations/WriteProbe.ts`).
 */

export type NotWriting = "away" | "read_only" | "disk_full"

const REASONS: Readonly<Record<string, NotWriting>> = {
  "53100": "disk_full",
  "25006": "read_only",
  "57P03": "away"
}

/** Why a statement that failed with this SQLSTATE could not write; undefined when it failed for another reason. */
export const notWriting = (code: string | undefined): NotWriting | undefined => REASONS[code ?? ""]

const refused = new Map<string, NotWriting>()

/** Called for every error of every connection. */
export const noteRefusal = (url: string, code: string | undefined): void => {
  const reason = notWriting(code)
  if (reason !== undefined) refused.set(url, reason)
}

export const lastRefusal = (url: string): NotWriting | undefined => refused.get(url)

export const forgetRefusal = (url: string): void => void refused.delete(url)
