/**
 * Checks what Posthorn is made of: `scripts/ci/supply-chain.mjs`. Ends with 1 unless all of this holds:
 *
 * - every version is pinned in pnpm-workspace.yaml, exactly, and every package in the lockfile comes from the registry, by hash;
 *   so is pnpm, which Corepack checks, and npx does not;
 * - packages that want to run a script when they are installed are named in pnpm-workspace.yaml, each with yes or no;
 * - docs/dependencies.md gives a reason for every direct dependency that runs in production, and for no other;
 * - everything that ships has a licence of the list below;
 * - the bundle is the same to the byte, wherever and whenever it is made, and names no folder of the machine.
 */
import { execFileSync } from "node:child_process"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ensureInstalled, root } from "../install.mjs"
import { BUILDS_THE_CONSOLE, makeSbom } from "../sbom.mjs"

/** Licences that let everybody use, change and pass on the code. The fonts' licence is OFL-1.1. */
const LICENCES = [
  "MIT",
  "MIT-0",
  "ISC",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "0BSD",
  "BlueOak-1.0.0",
  "Unlicense",
  "OFL-1.1"
]

const read = (...path) => readFileSync(join(root, ...path), "utf8")
const workspace = read("pnpm-workspace.yaml")

/** The members of a top-level map of pnpm-workspace.yaml. */
const members = (name) => {
  const section = workspace.slice(workspace.indexOf(`\n${name}:\n`) + name.length + 3).split(/\n(?=\S)/)[0]
  return section
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => /^ {2}"?([^":]+)"?: (.+)$/.exec(line)?.slice(1) ?? [line, ""])
}

const manifests = ["", ...readdirSync(join(root, "packages")).map((name) => join("packages", name))].map(
  (folder) => JSON.parse(read(folder, "package.json"))
)

const unpinned = () => [
  ...members("catalog")
    // A second version of a package has a name of its own: `svix-1: npm:svix@1.99.1`.
    .filter(([, version]) => !/^(npm:[\w@/-]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))
    .map(([name, version]) => `${name} is ${version} in pnpm-workspace.yaml, which is not one version`),
  ...manifests.flatMap((manifest) =>
    Object.entries({ ...manifest.dependencies, ...manifest.devDependencies })
      .filter(([, version]) => version !== "catalog:" && version !== "workspace:*")
      .map(([name, version]) => `${manifest.name} asks for ${name} ${version}: pin it in pnpm-workspace.yaml`)
  )
]

const unhashed = () => [
  ...(/^pnpm@\d+\.\d+\.\d+\+sha512\.[0-9a-f]{128}$/.test(manifests[0].packageManager)
    ? []
    : ["package.json names pnpm without its hash"]),
  ...read("pnpm-lock.yaml")
    .split("\n")
    .filter((line) => line.startsWith("    resolution: "))
    .filter((line) => !/^ {4}resolution: \{integrity: sha512-[\w+/]+=*\}$/.test(line))
    .map((line) => `pnpm-lock.yaml has a package that is not from the registry by its hash: ${line.trim()}`)
]

/** The packages of the lockfile that pnpm installed, each once; it keeps the folders of former ones for a week. */
const installed = () => {
  const store = join(root, "node_modules", ".pnpm")
  const lockfile = read("pnpm-lock.yaml")
  return readdirSync(store)
    .filter((name) => name !== "node_modules" && existsSync(join(store, name, "node_modules")))
    .flatMap((name) => {
      const scope = name.startsWith("@") ? name.slice(0, name.indexOf("+")) : ""
      const rest = scope === "" ? name : name.slice(scope.length + 1)
      const file = join(store, name, "node_modules", scope, rest.slice(0, rest.indexOf("@")), "package.json")
      if (!existsSync(file)) return []
      const manifest = JSON.parse(readFileSync(file, "utf8"))
      return lockfile.includes(`${manifest.name}@${manifest.version}`) ? [[file, manifest]] : []
    })
}

const runsSomething = ([file, { scripts = {} }]) =>
  ["preinstall", "install", "postinstall"].some((name) => name in scripts) ||
  existsSync(file.replace(/package\.json$/, "binding.gyp"))

const unnamed = () => {
  const named = members("allowBuilds").map(([name]) => name)
  const packages = installed()
  const found = new Set(packages.filter(runsSomething).map(([, { name }]) => name))
  return [
    ...(packages.length < 200 ? [`only ${packages.length} installed packages were found`] : []),
    ...[...found]
      .filter((name) => !named.includes(name))
      .map((name) => `${name} runs something when it is installed, and allowBuilds does not name it`)
  ]
}

/** The console ships as built files, so its dependencies are build dependencies; testkit is for tests. */
const direct = new Set(
  manifests
    .filter(({ name }) => name !== "@posthorn/testkit")
    .flatMap(({ dependencies = {} }) => Object.keys(dependencies))
    .filter((name) => !name.startsWith("@posthorn/"))
)

const unexplained = () => {
  const rows = Array.from(
    read("docs", "dependencies.md").matchAll(/^\| `([^`]+)` \| .+ \|$/gm),
    ([, name]) => name
  )
  return [
    ...[...direct]
      .filter((name) => !rows.includes(name))
      .map((name) => `docs/dependencies.md gives no reason for ${name}`),
    ...rows
      .filter((name) => !direct.has(name))
      .map((name) => `docs/dependencies.md names ${name}, which nothing that runs needs`)
  ]
}

const licenceOf = ({ licenses = [] }) =>
  licenses.map(({ expression, license }) => expression ?? license.id ?? license.name).join(" and ")

const unlicensed = ({ components }) => [
  ...(components.length < 50 ? [`the SBOM has only ${components.length} packages`] : []),
  ...components
    .filter((component) => !LICENCES.includes(licenceOf(component)))
    .map((component) => `${component["bom-ref"]} has the licence "${licenceOf(component)}"`),
  ...components
    .filter(({ group, name }) => BUILDS_THE_CONSOLE.includes(group ? `${group}/${name}` : name))
    .map(({ name }) => `the SBOM lists ${name}, which only builds the console`)
]

const hashOfBundle = (cwd, environment) =>
  execFileSync(process.execPath, [join(root, "scripts", "bundle.mjs"), "--hash"], {
    cwd,
    env: { ...process.env, ...environment },
    encoding: "utf8"
  }).trim()

const irreproducible = () => {
  const [here, there] = [
    hashOfBundle(root, { TZ: "UTC" }),
    hashOfBundle(tmpdir(), { TZ: "Asia/Kathmandu", LANG: "tr_TR.UTF-8" })
  ]
  return here === there ? [] : [`two builds of the bundle differ: ${here}, ${there}`]
}

ensureInstalled()
const sbom = makeSbom()
const problems = [
  ...unpinned(),
  ...unhashed(),
  ...unnamed(),
  ...unexplained(),
  ...unlicensed(sbom),
  ...irreproducible()
]
for (const problem of problems) console.error(`supply-chain: ${problem}`)
if (problems.length === 0)
  console.log(
    `${direct.size} direct dependencies, each with its reason; ${sbom.components.length} packages in what ships, all of known licences; one bundle`
  )
process.exitCode = problems.length === 0 ? 0 : 1
