/**
 * The built console in memory, with the compressed files that the build made.
 *
 * It is read at the first request, and again after a new build. So an unused console costs nothing, and a server that started
 * before the build ended shows the console as soon as it is there.
 */
import { readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"

export interface BuiltFile {
  readonly contentType: string
  readonly plain: Buffer
  readonly br: Buffer | undefined
  readonly gzip: Buffer | undefined
}

type BuiltFiles = ReadonlyMap<string, BuiltFile>

const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
  png: "image/png",
  woff2: "font/woff2",
  txt: "text/plain; charset=utf-8"
}

const suffixOf = (name: string) => name.slice(name.lastIndexOf(".") + 1)

const readAll = (folder: string): BuiltFiles => {
  const names = (readdirSync(folder, { recursive: true }) as Array<string>).map((name) =>
    name.replaceAll("\\", "/")
  )
  const present = new Set(names)
  const read = (name: string) => (present.has(name) ? readFileSync(join(folder, name)) : undefined)
  return new Map(
    names
      .filter((name) => suffixOf(name) in TYPES)
      .map((name) => [
        name,
        {
          contentType: TYPES[suffixOf(name)]!,
          plain: read(name)!,
          br: read(`${name}.br`),
          gzip: read(`${name}.gz`)
        }
      ])
  )
}

/** The files by their path under `/console/`; undefined while there are none. */
export const readBuiltConsole = (folder: string | null) => {
  let files: BuiltFiles | undefined
  let builtAt = 0
  return (): BuiltFiles | undefined => {
    if (folder === null) return undefined
    const built = statSync(join(folder, "index.html"), { throwIfNoEntry: false })
    if (built !== undefined && built.mtimeMs !== builtAt) {
      files = new Map([...(files ?? []), ...readAll(folder)])
      builtAt = built.mtimeMs
    }
    return files
  }
}
