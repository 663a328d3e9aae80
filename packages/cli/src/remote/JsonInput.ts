/** Texts from files and standard input. */
import { readFileSync } from "node:fs"
import { buffer } from "node:stream/consumers"
import { Effect } from "effect"
import { misused } from "../command/CommandFailed.ts"

/** Windows editors and PowerShell write a byte order mark before it. */
export const withoutMark = (text: string) => text.replace(/^\uFEFF/, "")

/** The file's text; `-` is standard input. */
export const textOf = (file: string) =>
  file === "-"
    ? Effect.promise(async () => withoutMark((await buffer(process.stdin)).toString("utf8")))
    : Effect.try(() => withoutMark(readFileSync(file, "utf8"))).pipe(
        Effect.catchAll(() => misused(`The file ${file} cannot be read`))
      )
