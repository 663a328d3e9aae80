/**
 * The big promises: where each is made, in which words, and what attacks it. The words must stand there, the tests must be
 * files, and laws and goals must be ones that the last runs judged: `npm run proof -- --check` holds that.
 */
export interface Promised {
  /** The file, from the root. */
  readonly where: string
  readonly words: string
  /** Under `packages/`, without `.test.ts`. */
  readonly tests: ReadonlyArray<string>
  /** Of `npm run chaos`, by the beginning of their names. */
  readonly laws?: ReadonlyArray<string>
  /** Of `npm run bench`, by the beginning of what they are about. */
  readonly goals?: ReadonlyArray<string>
  /** Other commands that judge it, in seconds. */
  readonly commands?: ReadonlyArray<string>
}

export const promises: ReadonlyArray<Promised> = [
  {
    where: "README.md",
    words: "**Never loses an event.**",
    tests: [
      "persistence/test/PublishSql",
      "server/test/SharedPublishesFaults",
      "worker/test/Crash",
      "worker/test/DatabaseFaults",
      "worker/test/DatabaseFaultsLine",
      "worker/test/DatabaseFaultsRestart",
      "worker/test/ProcessesRecovery",
      "worker/test/ProcessesUnsent",
      "worker/test/Simulation",
      "worker/test/Sweep",
      "worker/test/TakenShards"
    ],
    laws: ["L1 ", "L2 ", "L8 ", "I1 ", "I3 ", "T1 "],
    goals: ["calm run", "kill -9"]
  },
  {
    where: "README.md",
    words: "**One dead receiver slows nobody.**",
    tests: [
      "worker/test/FairLaws",
      "worker/test/FairWorkspaces",
      "worker/test/Lanes",
      "worker/test/SlowLanes",
      "worker/test/DispatchConnections",
      "worker/test/DispatchZoo",
      "worker/test/ReceiversInNumbers"
    ],
    laws: ["L17 "],
    goals: ["healthy endpoints beside a dead one", "1M rows of one blocked endpoint"]
  },
  {
    where: "README.md",
    words: "**Shows exactly what happened.**",
    tests: [
      "persistence/test/Evidence",
      "cli/test/RuntimeRole",
      "worker/test/Attempt",
      "worker/test/KeptHeaders",
      "worker/test/ProcessesStateMachine",
      "server/test/DeliveryLists",
      "server/test/Traces"
    ],
    laws: ["L3 ", "L4 ", "L6 ", "I5 ", "I8 ", "T2 ", "R4 "]
  },
  {
    where: "README.md",
    words: "**Every door, one set of rules.**",
    tests: [
      "server/test/McpParity",
      "server/test/Authorization",
      "server/test/CrossTenant",
      "server/test/CrossTenantLoad",
      "server/test/CrossTenantSql",
      "server/test/ConsoleDoor",
      "server/test/Fuzz",
      "persistence/test/PublishSql"
    ]
  },
  {
    where: "README.md",
    words: "With Node 20.19 or newer and npm, in a fresh clone",
    tests: ["cli/test/FreshClone", "cli/test/FirstEndpoint", "cli/test/Start"]
  },
  {
    where: "README.md",
    words:
      "A worker that dies is replaced within seconds; what it held is sent again under the same `webhook-id`",
    tests: [
      "worker/test/Crash",
      "worker/test/Ownership",
      "worker/test/OwnershipZombie",
      "worker/test/Shutdown"
    ],
    laws: ["L7 "],
    goals: ["kill -9", "SIGTERM"]
  },
  {
    where: "docs/operate.md",
    words: "programs of the last release go on while the database is migrated",
    tests: ["persistence/test/Migrator", "persistence/test/SafeMigrations"],
    commands: ["npm run migrations"]
  },
  {
    where: "docs/operate.md",
    words: "After restoring an older state",
    tests: ["persistence/test/Restored"]
  },
  {
    where: "docs/operate.md",
    words: "each process connects to the one that accepts writes",
    tests: ["persistence/test/Hosts"]
  },
  {
    where: "docs/operate.md",
    words: "while the database is away, `serve` answers 503 and `work` keeps",
    tests: ["server/test/DatabaseAway", "worker/test/DatabaseFaults", "worker/test/DatabaseFaultsRestart"],
    laws: ["I7 "]
  },
  {
    where: "docs/operate.md",
    words: "old history removed as if nothing had happened",
    tests: [
      "worker/test/Replays",
      "worker/test/Retention",
      "capabilities/test/Identities",
      "persistence/test/Isolation"
    ],
    laws: ["R1 ", "R2 ", "R3 ", "R5 ", "T3 ", "S1 ", "S2 ", "S4 "]
  },
  {
    where: "SECURITY.md",
    words: "**Revoking takes up to a second**",
    tests: ["capabilities/test/Identities", "server/test/ApiTokens"],
    laws: ["S3 "]
  },
  {
    where: "docs/operate.md",
    words: "dashboard for Grafana",
    tests: ["worker/test/Monitoring", "worker/test/ProcessesMeters", "telemetry/test/Telemetry"]
  },
  {
    where: "docs/receive.md",
    words: "Standard Webhooks",
    tests: ["signature/test/Signature", "signature/test/Packed", "worker/test/Interop"],
    laws: ["L11 "]
  },
  {
    where: "docs/compatibility.md",
    words: "No member of an answer is removed, renamed, or given another type or meaning",
    tests: ["server/test/Compatibility", "server/test/OpenApi"],
    commands: ["npm run compatibility"]
  },
  {
    where: "docs/compatibility.md",
    words: "No operation, parameter, tool or permission is removed; no optional member becomes required",
    tests: ["server/test/Compatibility", "server/test/McpTools"],
    commands: ["npm run compatibility"]
  },
  {
    where: "docs/compatibility.md",
    words: "A request that was accepted stays accepted",
    tests: ["server/test/Compatibility", "server/test/InputLimits", "server/test/Fuzz"],
    commands: ["npm run compatibility"]
  },
  {
    where: "docs/compatibility.md",
    words: "The tag and the status of a refusal stay what they are",
    tests: ["server/test/Compatibility", "server/test/Authorization", "server/test/McpParity"],
    commands: ["npm run compatibility"]
  },
  {
    where: "docs/compatibility.md",
    words: "The request a receiver gets: its body, the four headers",
    tests: ["worker/test/Attempt", "worker/test/Interop", "signature/test/Signature"],
    laws: ["L11 "]
  },
  {
    where: "docs/compatibility.md",
    words: "What the state machine does with an answer",
    tests: ["domain/test/Verdict", "worker/test/ProcessesStateMachine"],
    laws: ["L5 "]
  },
  {
    where: "docs/compatibility.md",
    words: "MCP's output schemas allow what they do not",
    tests: ["server/test/Compatibility"]
  },
  {
    where: "docs/compatibility.md",
    words: "Nothing is deprecated at present",
    tests: ["server/test/Compatibility"]
  },
  {
    where: "docs/dependencies.md",
    words: "judges versions, hashes, licences, install scripts and the bundle",
    tests: [],
    commands: ["npm run supply-chain"]
  },
  {
    where: "SECURITY.md",
    words:
      "each guard of the SQL has been taken away once, and a test fails without it; so has each rule in TypeScript about answers, URLs, addresses, scopes, the gate, tokens, sessions, signatures and sealed secrets",
    tests: ["persistence/test/Guards", "persistence/test/MutantList", "persistence/test/MutantScan"],
    commands: ["npm run mutate:sql -- --check", "npm run mutate:ts -- --check"]
  }
]
