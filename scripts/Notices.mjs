/**
 * The licences of third-party packages that we ship: each package once, with its own text, because most licences require it.
 * Made from the modules that a bundler read.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"

const LICENCE = /^(licen[cs]e|copying|notice)/i

/** The folder of the package that a module belongs to; undefined for our own modules. */
const packageOf = (module) => {
  if (!module.includes("node_modules")) return undefined
  for (let folder = dirname(module); folder.includes("node_modules"); folder = dirname(folder)) {
    const manifest = join(folder, "package.json")
    // A folder within a package may have a package.json of its own that only states the kind of its modules.
    if (existsSync(manifest) && JSON.parse(readFileSync(manifest, "utf8")).version !== undefined)
      return folder
  }
  return undefined
}

const noticeOf = (folder) => {
  const { license, name, version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))
  const files = readdirSync(folder).filter((file) => LICENCE.test(file) && !/\.(js|ts|json)$/.test(file))
  const texts = files.map((file) => readFileSync(join(folder, file), "utf8").trim())
  const kind = typeof license === "string" ? license : (license?.type ?? "see its text")
  return [`${name} ${version}`, [`${name} ${version} (${kind})`, ...texts].join("\n\n")]
}

/** `modules` are paths; prefixes and suffixes that a bundler adds are ignored. */
export const noticesOf = (modules) => {
  const folders = new Set(modules.flatMap((module) => packageOf(module.replace(/^\0|\?.*$/g, "")) ?? []))
  const notices = new Map([...folders].map(noticeOf))
  const line = `\n\n${"-".repeat(78)}\n\n`
  return `${[...notices.keys()]
    .sort()
    .map((name) => notices.get(name))
    .join(line)}\n`
}
