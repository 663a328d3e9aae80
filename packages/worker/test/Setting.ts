/** The environment of worker tests: Stage.ts, with a real PostgreSQL of the file's own. */
import * as SecretBox from "@posthorn/persistence/client/SecretBox"
import { TestPg } from "@posthorn/testkit/TestPg"
import { Layer, Logger, LogLevel } from "effect"
import { box } from "./Stage.ts"

export * from "./Stage.ts"

/** Workers log which shards they take and give back; tests do not show it. */
const quiet = Logger.minimumLogLevel(LogLevel.Warning)

export const Setting = Layer.mergeAll(TestPg, Layer.succeed(SecretBox.SecretBox, box), quiet)
