/**
 * Makes a release of what is checked out: `npm run release -- 1.2.3`. Runs `.ci/run`, writes the version everywhere, dates
 * the changelog's section, commits, tags `v1.2.3` with the notes, and prints them. Pushes and publishes nothing.
 *
 *   -- 1.2.3 --dry-run    the same without writing anything
 *   -- --dry-run          makes what would be published of the version that is checked out, in dist/ (scripts/artifacts.mjs), and
 *                         tries it from there alone (scripts/try-artifacts.mjs); refuses a tree with changes
 *   -- --notes            the notes of the version that is checked out, and nothing else
 *
 * Refuses a tree with changes, base images without a digest, a failing step of `.ci/run`, a version that is not greater than the last release, and an
 * empty changelog section; then it writes nothing. Works on the repository of the current folder.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { makeArtifacts } from "./artifacts.mjs"
import { ensureInstalled } from "./install.mjs"
import { tryArtifacts } from "./try-artifacts.mjs"

const git = (...args) => execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim()

const root = execFileSync("git", ["rev-parse", "--show-toplevel"], { encoding: "utf8" }).trim()
const read = (file) => readFileSync(join(root, file), "utf8")

const refuse = (why) => {
  console.error(`release: ${why}`)
  process.exit(1)
}

const CHANGELOG = "CHANGELOG.md"
const IMAGES = "docker/images.env"
const VERSION = "\\d+\\.\\d+\\.\\d+"

/** Every file with the version; pack.mjs makes the packages' manifests from the first. */
const PLACES = [
  ["package.json", '"version": "', '"'],
  ["packages/cli/src/Version.ts", 'VERSION = "', '"'],
  ["packages/api-contract/openapi.json", '"version": "', '"'],
  ["packages/sdk/python/pyproject.toml", 'version = "', '"'],
  ["docker/Dockerfile", 'image.version="', '"'],
  ["docker/kubernetes/kustomization.yaml", "newTag: ", "\n"],
  ["docs/operate.md", "newTag: ", "\n"]
]

const numbersOf = (version) => version.split(".").map(Number)

const isGreater = (version, other) => {
  const [ours, theirs] = [numbersOf(version), numbersOf(other)]
  const n = ours.findIndex((number, at) => number !== theirs[at])
  return n >= 0 && ours[n] > theirs[n]
}

const lastRelease = () =>
  git("tag", "--list", "v*", "--sort=-version:refname")
    .split("\n")
    .find((tag) => new RegExp(`^v${VERSION}$`).test(tag))

/** The text from below the heading to the next one; undefined when there is no such heading. */
const sectionOf = (changelog, heading) => {
  const start = changelog.search(new RegExp(`^## ${heading.replaceAll(".", "\\.")}\\b.*$`, "m"))
  if (start < 0) return undefined
  const body = changelog.slice(changelog.indexOf("\n", start) + 1)
  const end = body.search(/^## /m)
  return (end < 0 ? body : body.slice(0, end)).trim()
}

const notesOf = (version) => sectionOf(read(CHANGELOG), version)

const written = ([file, before, after], version) => {
  const text = read(file)
  const pattern = new RegExp(`(${before})${VERSION}(${after})`)
  if (!pattern.test(text)) refuse(`${file} has no version`)
  return [file, text.replace(pattern, `$1${version}$2`)]
}

const closed = (version) => {
  const today = new Date().toISOString().slice(0, 10)
  return [CHANGELOG, read(CHANGELOG).replace(/^## Unreleased$/m, `## Unreleased\n\n## ${version} - ${today}`)]
}

const refuseChanges = () => {
  if (git("status", "--porcelain") !== "") refuse("there are changes that are not committed")
}

const check = (version) => {
  if (!new RegExp(`^${VERSION}$`).test(version ?? ""))
    refuse("which version? Such as: npm run release -- 1.2.3")
  refuseChanges()
  const last = lastRelease()
  if (last !== undefined && !isGreater(version, last.slice(1)))
    refuse(`${version} is not greater than ${last}`)
  const { version: current } = JSON.parse(read("package.json"))
  if (isGreater(current, version)) refuse(`${version} is not as great as ${current}, which package.json has`)
  const floating = read(IMAGES).match(/^[A-Z_]+=(?!.*@sha256:[0-9a-f]{64}$).*$/gm) ?? []
  if (floating.length > 0) refuse(`${IMAGES} names images without a digest: ${floating.join(", ")}`)
  if (!sectionOf(read(CHANGELOG), "Unreleased")) refuse(`${CHANGELOG} tells nothing under "Unreleased"`)
}

const runChecks = () => {
  const { status } = spawnSync(join(root, ".ci", "run"), {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"]
  })
  if (status !== 0) refuse(".ci/run failed: its last lines say which step")
  if (git("status", "--porcelain") !== "") refuse(".ci/run left changes behind: commit them first")
}

const makeDist = async () => {
  // provenance.json names the commit.
  refuseChanges()
  const dist = join(root, "dist")
  ensureInstalled({ withConsole: true })
  for (const { bytes, name } of await makeArtifacts(dist))
    console.log(`${String(Math.ceil(bytes / 1024)).padStart(6)} kB  ${name}`)
  for (const [name, said] of Object.entries(await tryArtifacts(dist))) console.log(`${name}: ${said}`)
}

const release = (version, isDry) => {
  check(version)
  runChecks()
  const notes = sectionOf(read(CHANGELOG), "Unreleased")
  const files = [...PLACES.map((place) => written(place, version)), closed(version)]
  console.log(`\n${version}\n\n${notes}\n`)
  if (isDry)
    return console.log(
      `release: would write ${files.map(([file]) => file).join(", ")}, commit, and tag v${version}`
    )
  for (const [file, text] of files) writeFileSync(join(root, file), text)
  git("commit", "--quiet", "--message", `Release ${version}`, "--", ...files.map(([file]) => file))
  git("tag", "--annotate", `v${version}`, "--cleanup=verbatim", "--message", `${version}\n\n${notes}`)
  console.log(`release: v${version} is tagged. Publish it with: git push origin HEAD v${version}`)
  console.log("release: npm run release -- --dry-run makes dist/, and tries it")
}

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { "dry-run": { type: "boolean" }, notes: { type: "boolean" } }
})
if (values.notes) {
  const { version } = JSON.parse(read("package.json"))
  console.log(notesOf(version) ?? refuse(`${CHANGELOG} has no section ${version}`))
} else if (positionals.length === 0 && values["dry-run"]) await makeDist()
else release(positionals[0], values["dry-run"] === true)
