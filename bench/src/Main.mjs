/** Reads what to run, starts the servers, runs the scenarios one after another, prints and writes what came of it. */
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { benchFolder } from "./Bundle.mjs"
import { machine } from "./Machine.mjs"
import { killAll } from "./Run.mjs"
import { databases, startPostgres, startRedis } from "./Servers.mjs"
import { startSink } from "./SinkClient.mjs"

const scenarios = {
  throughput: { file: "Throughput", n: 20_000, reps: 5 },
  pickup: { file: "Pickup", rate: 200, seconds: 10, reps: 3 },
  fairness: { file: "Fairness", n: 5000, timeout: 2000, reps: 3 },
  workspaces: { file: "Workspaces", seconds: 10, reps: 3 },
  growth: { file: "Growth", n: 100_000, backlog: 1_000_000, history: 2_000_000, reps: 3 },
  workers: { file: "Workers", n: 60_000, reps: 3 },
  publish: { file: "Publish", seconds: 1, reps: 1 },
  replay: { file: "Replay", n: 1_000_000, rate: 100, seconds: 10, reps: 4 },
  load: { file: "Load", seconds: 600, onlyByName: true },
  backlog: { file: "Backlog", backlog: 1_000_000, onlyByName: true },
  history: { file: "History", rows: 1_000_000, n: 20_000, onlyByName: true }
}

/** They take long, or much room on the disk. */
const LONG = Object.keys(scenarios).filter((name) => scenarios[name].onlyByName)

const USAGE = `Usage: npm run bench -- [scenario ...] [--n count] [--reps count] [--only name,name] [--seconds s]
       [--rate per second] [--backlog rows] [--history rows]
       [--rows count] [--timeout ms]
Scenarios: ${Object.keys(scenarios).join(", ")}; without one, all but ${LONG.join(", ")}.`

const parse = (words) => {
  const names = []
  const given = {}
  for (let i = 0; i < words.length; i++) {
    const word = words[i]
    if (Object.hasOwn(scenarios, word)) names.push(word)
    else if (word === "--only") given.only = words[++i]?.split(",")
    else if (/^--(n|reps|seconds|backlog|history|rows|rate|timeout)$/.test(word) && Number(words[i + 1]) > 0)
      given[word.slice(2)] = Number(words[++i])
    else {
      process.stderr.write(`bench: unknown: ${word}\n${USAGE}\n`)
      process.exit(2)
    }
  }
  return {
    names: names.length > 0 ? names : Object.keys(scenarios).filter((name) => !LONG.includes(name)),
    given
  }
}

export const main = async (words) => {
  const { names, given } = parse(words)
  const say = (line) => process.stdout.write(`${line}\n`)
  const postgres = await startPostgres()
  const redis = await startRedis()
  const sink = await startSink()
  if (redis === null)
    say("No redis-server here (on Debian: apt-get install redis-server): BullMQ is left out.")
  const bench = { postgres, redis, sink, say, databases: await databases(postgres) }
  const about = {
    at: new Date().toISOString(),
    machine: machine(),
    postgres: postgres.about,
    redis: redis?.version ?? null
  }
  say(
    `PostgreSQL ${postgres.about.version}, fsync ${postgres.about.fsync}, synchronous_commit ${postgres.about.synchronousCommit}; ` +
      `Node ${process.version}; ${about.machine.cores} cores, load ${about.machine.load.join(" ")}`
  )
  const results = []
  const close = async () => {
    killAll()
    await bench.databases.dropAll().catch(() => undefined)
    sink.stop()
    await redis?.stop()
    await postgres.stop()
  }
  process.once("SIGINT", () => close().finally(() => process.exit(130)))
  try {
    for (const name of names) {
      const { file, onlyByName: _, ...defaults } = scenarios[name]
      const module = await import(`./scenarios/${file}.mjs`)
      say(`\n${name}`)
      const loadBefore = machine().load[0]
      results.push({
        ...(await module[name](bench, { ...defaults, ...given })),
        load: [loadBefore, machine().load[0]]
      })
    }
  } finally {
    await close()
  }
  const folder = join(benchFolder, "results")
  mkdirSync(folder, { recursive: true })
  const { report } = await import("./Report.mjs")
  report({ about, results }, folder, say)
}
