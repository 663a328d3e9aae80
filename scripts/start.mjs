/**
 * `npm start`: installs what is missing, bundles what has changed, and becomes `posthorn dev`. If the console is not
 * current, it is built in the background, so that the first webhook does not wait for it.
 *
 * The bundle runs in this very process, so Ctrl-C, SIGTERM and the exit code need no passing on, and no child process can be
 * left behind.
 */
import { pathToFileURL } from "node:url"
import { bundle, bundleFile } from "./bundle.mjs"
import { buildConsoleBeside } from "./console.mjs"
import { ensureInstalled } from "./install.mjs"
import { onOrphaned } from "./orphaned.mjs"

ensureInstalled({ toRun: true })
console.log("Bundling what has changed, then starting PostgreSQL, API and worker …")
await bundle()
onOrphaned(() => process.kill(process.pid, "SIGTERM"))
process.argv = [process.argv[0], bundleFile, "dev", ...process.argv.slice(2)]
await import(pathToFileURL(bundleFile).href)
buildConsoleBeside()
