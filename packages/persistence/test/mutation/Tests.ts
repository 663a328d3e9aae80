/** Which test files are asked about a mutant: those that use what it changes, the quickest first. */

const BY_FUNCTION: Readonly<Record<string, ReadonlyArray<string>>> = {
  refuse_removal: ["persistence/test/Schema"],
  remove_attempts: ["worker/test/Retention", "server/test/Endpoints"],
  keep_subscriptions: ["server/test/Endpoints", "server/test/Publish"],
  try_publish_events: ["server/test/PublishHeldKeys"],
  nests_deeper: ["persistence/test/PublishSql", "server/test/Publish"],
  check_event: ["persistence/test/PublishSql", "server/test/Publish"],
  fan_out: [
    "persistence/test/Guards",
    "persistence/test/PublishSql",
    "server/test/Publish",
    "worker/test/Races",
    "worker/test/Worker"
  ],
  publish_events: [
    "persistence/test/Guards",
    "persistence/test/PublishSql",
    "server/test/Publish",
    "server/test/PublishHeldKeys"
  ],
  record: [
    "persistence/test/Guards",
    "worker/test/Races",
    "worker/test/RacesHeldLocks",
    "worker/test/Worker",
    "worker/test/DatabaseFaults"
  ],
  bury: ["persistence/test/Guards", "worker/test/RacesDeadLetters", "worker/test/Worker"],
  due: ["persistence/test/Guards", "worker/test/Reader", "worker/test/Worker", "worker/test/Races"],
  next_due: ["persistence/test/Guards", "worker/test/Reader", "worker/test/Worker"],
  due_of: ["persistence/test/Guards", "worker/test/Reader", "worker/test/Worker"],
  load: ["persistence/test/Guards", "worker/test/Worker", "worker/test/Races"],
  take_up: [
    "persistence/test/Guards",
    "worker/test/Poison",
    "worker/test/Races",
    "worker/test/RacesHeldLocks"
  ],
  take_shard: ["persistence/test/Guards", "worker/test/Ownership", "worker/test/Crash"],
  give_back_shard: ["persistence/test/Guards", "worker/test/Ownership", "worker/test/Crash"]
}

const BY_FILE: Readonly<Record<string, ReadonlyArray<string>>> = {
  "0001_tables.sql": [
    "persistence/test/Schema",
    "worker/test/Retention",
    "server/test/Endpoints",
    "server/test/Publish"
  ],
  "0004_engine.sql": ["worker/test/Worker"],
  "0005_retention.sql": ["persistence/test/Guards", "worker/test/Retention"],
  "ApiTokensRepo.ts": ["server/test/ApiTokens", "server/test/CrossTenant"],
  "DeliveriesRepo.ts": ["server/test/Acting", "server/test/CrossTenant"],
  "EndpointsRepo.ts": [
    "server/test/Endpoints",
    "server/test/CrossTenant",
    "server/test/Acting",
    "server/test/PublishHeldKeys"
  ],
  "MembersRepo.ts": ["server/test/Members", "server/test/CrossTenant"],
  "NotificationsRepo.ts": ["server/test/Records", "server/test/CrossTenant"],
  "SecretsRepo.ts": ["capabilities/test/ReEncryption"],
  "ShardLocks.ts": ["worker/test/Ownership", "worker/test/OwnershipZombie"],
  "WorkspacesRepo.ts": ["server/test/Workspaces", "server/test/CrossTenant"]
}

/** Paths for vitest. */
export const testsFor = (name: string): ReadonlyArray<string> => {
  const [file = "", rest = ""] = name.replace(":", "").split(" ")
  const tests = BY_FUNCTION[rest] ?? BY_FILE[file]
  if (tests === undefined) throw new Error(`No tests are named for ${name}: say in Tests.ts which`)
  return tests.map((path) => `packages/${path}.test.ts`)
}
