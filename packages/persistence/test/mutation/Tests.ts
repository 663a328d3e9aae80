/**
 * Which test files are asked about a mutant that no scenario of `../guards` has noticed: those that use what it changes, the
 * quickest first.
 */

const RECORD = [
  "worker/test/Races",
  "worker/test/RacesHeldLocks",
  "worker/test/Worker",
  "worker/test/DatabaseFaults"
]

const BY_NAME: Readonly<Record<string, ReadonlyArray<string>>> = {
  remove_attempts: ["worker/test/Retention", "server/test/Endpoints"],
  keep_subscriptions: ["server/test/Endpoints", "server/test/Publish"],
  try_publish_events: ["server/test/PublishHeldKeys"],
  record: RECORD,
  write_attempts: RECORD,
  count_failures: RECORD,
  bury: ["worker/test/RacesDeadLetters", "worker/test/Worker"],
  take_up: ["worker/test/Poison", "worker/test/Races", "worker/test/RacesHeldLocks"],
  take_shard: ["worker/test/Ownership", "worker/test/Crash"],
  give_back_shard: ["worker/test/Ownership", "worker/test/Crash"]
}

const REPLAYS = ["server/test/Replays", "worker/test/Replays"]

const BY_FILE: Readonly<Record<string, ReadonlyArray<string>>> = {
  "0001_tables.sql": ["persistence/test/Schema", "worker/test/Retention", "server/test/Endpoints"],
  "0002_publish.sql": [
    "persistence/test/PublishSql",
    "server/test/Publish",
    "server/test/PublishHeldKeys",
    "worker/test/Races"
  ],
  "0004_engine.sql": ["worker/test/Reader", "worker/test/Worker", "worker/test/Races"],
  "0005_retention.sql": ["worker/test/Retention", "server/test/IdempotencyKeys"],
  "0006_console.sql": ["server/test/ConsoleDoor"],
  "0007_replays.sql": REPLAYS,
  "0008_statistics.sql": ["persistence/test/HourCounts"],
  "ApiTokensRepo.ts": ["server/test/ApiTokens", "server/test/TokenLineage", "server/test/CrossTenant"],
  "ConsoleRepo.ts": ["server/test/ConsoleDoor", "server/test/CrossTenant"],
  "DeliveriesRepo.ts": ["server/test/Acting", "server/test/CrossTenant"],
  "EndpointsRepo.ts": [
    "server/test/Endpoints",
    "server/test/CrossTenant",
    "server/test/Acting",
    "server/test/PublishHeldKeys"
  ],
  "IdempotencyRepo.ts": ["server/test/IdempotencyKeys"],
  "MembersRepo.ts": ["server/test/Members", "server/test/CrossTenant"],
  "NotificationsRepo.ts": ["server/test/Records", "server/test/CrossTenant"],
  "ReplaysRepo.ts": REPLAYS,
  "SecretsRepo.ts": ["capabilities/test/ReEncryption"],
  "ShardLocks.ts": ["worker/test/Ownership", "worker/test/OwnershipZombie"],
  "WorkspacesRepo.ts": ["server/test/Workspaces", "server/test/CrossTenant"]
}

/** Paths for vitest. */
export const testsFor = ({
  file,
  of
}: {
  readonly file: string
  readonly of: string
}): ReadonlyArray<string> => {
  const tests = BY_NAME[of] ?? BY_FILE[file]
  if (tests === undefined) throw new Error(`No tests are named for ${file}: say in Tests.ts which`)
  return tests.map((path) => `packages/${path}`)
}
