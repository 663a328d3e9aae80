/**
 * `npm run bench`: what Posthorn's production build costs and how fast it is, beside a plain loop.
 *
 *   npm run bench                               every scenario, each below 90 s
 *   npm run bench -- light pickup               some of them: publish, deliver, pickup, light, fairness
 *   npm run bench -- light --beside DIR         this checkout and the one in DIR, in turns, and the ratio of the two
 *   --rounds N  --seconds S  --count N  --json FILE  --no-loop
 *
 * Each turn has new processes and a new database on one durable PostgreSQL. Ratios are medians of the rounds' ratios,
 * because a machine that is busy with other things slows both sides of a round. The other figures are medians, and say
 * little about another machine. The header of each scenario's file says what it does.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { cpus, loadavg, tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { loop } from "./Loop.mjs"
import { cpuOf, cpuOfTree, median, parentOf, start } from "./Machine.mjs"
import { bundle, posthorn } from "./Posthorn.mjs"
import { startSink } from "./Sink.mjs"
import { deliver } from "./scenarios/Deliver.mjs"
import { fairness } from "./scenarios/Fairness.mjs"
import { light } from "./scenarios/Light.mjs"
import { pickup } from "./scenarios/Pickup.mjs"
import { publish } from "./scenarios/Publish.mjs"

const pg = createRequire(new URL("../packages/persistence/package.json", import.meta.url))("pg")
const root = fileURLToPath(new URL("..", import.meta.url))
const scenarios = { publish, deliver, pickup, light, fairness }

const fail = (message) => {
  console.error(`bench: ${message}`)
  process.exit(2)
}

const readOptions = () => {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        beside: { type: "string" },
        count: { type: "string" },
        json: { type: "string" },
        "no-loop": { type: "boolean" },
        rounds: { type: "string" },
        seconds: { type: "string" }
      }
    })
  } catch (error) {
    return fail(error.message)
  }
}

const { positionals, values } = readOptions()
const numbers = ["rounds", "seconds", "count"].flatMap((name) =>
  values[name] === undefined ? [] : [[name, Number(values[name])]]
)
const given = Object.fromEntries(numbers)
const chosen = positionals.length > 0 ? positionals : Object.keys(scenarios)
if (process.platform !== "linux") fail("CPU and memory are read from Linux' /proc: run it on Linux")
for (const [name, value] of numbers) if (!(value > 0)) fail(`--${name} is a number above 0`)
for (const name of chosen)
  if (!(name in scenarios)) fail(`no scenario ${name}: ${Object.keys(scenarios).join(", ")}`)

const connect = async (connectionString) => {
  const client = new pg.Client({ connectionString })
  client.on("error", () => undefined)
  await client.connect()
  return client
}

const startPostgres = async () => {
  const { child, stop } = start(
    ["--import", "tsx", "bench/postgres.ts"],
    {},
    { cwd: root, stdio: ["ignore", "pipe", "inherit", "ipc"] }
  )
  const url = await new Promise((resolve, reject) => {
    child.stdout.once("data", (line) => resolve(String(line).trim()))
    child.once("exit", () => reject(new Error("PostgreSQL did not start")))
  })
  const admin = await connect(url)
  for (const setting of ["max_wal_size = '4GB'", "checkpoint_timeout = '15min'"])
    await admin.query(`alter system set ${setting}`)
  await admin.query("select pg_reload_conf()")
  const { rows } = await admin.query("select pg_backend_pid() as pid")
  return { url, admin, postmaster: parentOf(rows[0].pid), stop: () => admin.end().then(stop) }
}

/** One turn: a contestant runs a scenario on a database of its own. */
const turn = async (bench, contestant, scenario, options) => {
  const database = `bench_${process.pid}_${++bench.turns}`
  const url = Object.assign(new URL(bench.postgres.url), { pathname: `/${database}` }).href
  await bench.postgres.admin.query(`create database ${database}`)
  await bench.postgres.admin.query("checkpoint")
  const opened = await contestant.open(url, scenario.endpoints(bench.sink))
  try {
    return await scenario.run(bench, { contestant, opened, url }, options)
  } finally {
    await opened.serve.stop()
    await bench.postgres.admin.query(`drop database ${database} with (force)`)
  }
}

/** In turns; the contestant that begins a round is the last of the next one. */
const play = async (bench, contestants, name) => {
  const { endpoints: _, run: __, ...defaults } = scenarios[name]
  const options = { rounds: values.beside === undefined ? 1 : 3, ...defaults, ...given }
  const results = contestants.map(() => [])
  for (let round = 0; round < options.rounds; round++)
    for (let n = 0; n < contestants.length; n++) {
      const at = round % 2 === 0 ? n : contestants.length - 1 - n
      process.stderr.write(
        `bench: ${name}, round ${round + 1} of ${options.rounds}, ${contestants[at].name}\n`
      )
      results[at].push(await turn(bench, contestants[at], scenarios[name], options))
    }
  return { scenario: name, options, contestants: contestants.map((one) => one.name), results }
}

const shown = (value) =>
  value === undefined || Number.isNaN(value)
    ? "–"
    : Number.isInteger(value) || Math.abs(value) >= 1000
      ? value.toFixed(0)
      : value.toPrecision(3)

/** For each figure, the median of every contestant, and the median of the first one's ratios to the second. */
const table = ({ contestants, results }) => {
  const figures = [...new Set(results.flat().flatMap(Object.keys))]
  const all = (of, figure) => results[of].map((round) => round[figure])
  return [
    ["", ...contestants, "ratio"],
    ...figures.map((figure) => [
      figure,
      ...contestants.map((_, of) => shown(median(all(of, figure).map((value) => value ?? Number.NaN)))),
      contestants.length < 2
        ? ""
        : shown(median(all(0, figure).map((value, round) => value / (all(1, figure)[round] ?? Number.NaN))))
    ])
  ]
}

const print = (result) => {
  const rows = table(result)
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)))
  console.log(
    `\n${result.scenario} (${result.options.rounds === 1 ? "one round" : `${result.options.rounds} rounds`})`
  )
  for (const row of rows) {
    const cells = row.map((cell, n) => (n === 0 ? cell.padEnd(widths[n]) : cell.padStart(widths[n])))
    console.log(`  ${cells.join("  ")}`)
  }
}

for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(130))
const folder = mkdtempSync(join(tmpdir(), "posthorn-bundles-"))
process.once("exit", () => rmSync(folder, { recursive: true, force: true }))

const ours = (name, checkout) => {
  const built = join(folder, name)
  bundle(checkout, built)
  return posthorn(name, checkout, built)
}

const beside = values.beside === undefined ? undefined : resolve(values.beside)
const contestants = [
  ours("posthorn", root),
  ...(beside === undefined ? [] : [ours("beside", beside)]),
  ...(beside === undefined && !values["no-loop"] ? [loop] : [])
]
const postgres = await startPostgres()
const sink = await startSink()
const postgresCpu = () => cpuOfTree(postgres.postmaster)
const bench = {
  turns: 0,
  postgres,
  sink,
  connect,
  pool: (connectionString, max) => new pg.Pool({ connectionString, max, min: max }),
  postgresCpu,
  cpuOf: (processes) => processes.reduce((sum, { pid }) => sum + cpuOf(pid), postgresCpu())
}
const about = { cpu: cpus()[0]?.model, cores: cpus().length, node: process.version, load: loadavg() }
console.log(`${about.cpu}, ${about.cores} cores, Node ${about.node}, load ${about.load[0].toFixed(1)} before`)
const results = []
try {
  for (const name of chosen) {
    results.push(await play(bench, contestants, name))
    print(results.at(-1))
  }
  if (values.json !== undefined)
    writeFileSync(values.json, `${JSON.stringify({ about, results }, null, 1)}\n`)
} finally {
  await sink.stop()
  await postgres.stop()
}
process.exit(0)
