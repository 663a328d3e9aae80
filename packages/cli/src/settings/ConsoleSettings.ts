/** How the console looks, from the environment: the operator's name, colour and logo, checked at start. */
import { readFileSync, statSync } from "node:fs"
import type { Logo } from "@posthorn/server/console/ConsoleConfig"
import { Either } from "effect"

export const consoleName = (raw: string): Either.Either<string, string> =>
  /^[^\p{Cc}\p{Cs}]{1,40}$/u.test(raw.trim())
    ? Either.right(raw.trim())
    : Either.left("must be 1 to 40 characters")

export const consoleAccent = (raw: string): Either.Either<string, string> =>
  /^#[0-9a-f]{6}$/i.test(raw.trim())
    ? Either.right(raw.trim().toLowerCase())
    : Either.left(`is "${raw}", but must be a colour of six hex digits`)

const LOGO_BYTES = 100_000
const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47])

/** Recognised by the file's content. An SVG is served so that its scripts do not run. */
export const consoleLogo = (raw: string): Either.Either<Logo, string> => {
  const path = raw.trim()
  const stat = statSync(path, { throwIfNoEntry: false })
  if (stat === undefined || !stat.isFile()) return Either.left(`is "${path}", but there is no such file`)
  if (stat.size > LOGO_BYTES) return Either.left(`names a file of more than ${LOGO_BYTES} bytes`)
  try {
    const bytes = readFileSync(path)
    if (bytes.subarray(0, PNG.length).equals(PNG)) return Either.right({ contentType: "image/png", bytes })
    if (/^\s*(<\?xml[^>]*>\s*)?(<!--[\s\S]*?-->\s*)*<svg[\s>]/.test(bytes.toString("utf8")))
      return Either.right({ contentType: "image/svg+xml", bytes })
    return Either.left("names a file that is neither SVG nor PNG")
  } catch (error) {
    return Either.left(`names a file that cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
}
