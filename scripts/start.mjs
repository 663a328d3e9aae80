/**
 * `npm start`: installs what is missing, bundles what has changed, and becomes `posthorn dev`. The console is built beside
 * it, when it is not current: the first webhook does not wait for it.
 *
 * The bundle runs in this very process: Ctrl-C, SIGTERM and the exit code need no passing on, and nothing can be left
 * behind between us and it.
 */
import { pathToFileURL } from "node:url"
import { bundle, bundleFile } from "./bundle.mjs"
import { buildConsoleBeside } from "./console.mjs"
import { ensureInstalled } from "./install.mjs"
import { onOrphaned } from "./orphaned.mjs"

ensureInstalled({ toRun: true })
await bundle()
onOrphaned(() => process.kill(process.pid, "SIGTERM"))
process.argv = [process.argv[0], bundleFile, "dev", ...process.argv.slice(2)]
await import(pathToFileURL(bundleFile).href)
buildConsoleBeside()
