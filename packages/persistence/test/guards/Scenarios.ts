/** All scenarios, and a filter by function, trigger or statement of `src`. */

import { alerts } from "./Alerts.ts"
import { holding } from "./Blocked.ts"
import { catalogue } from "./Catalogue.ts"
import { burials } from "./DeadLetters.ts"
import { endpoints } from "./Endpoints.ts"
import { engine } from "./Engine.ts"
import { failures } from "./FailedDeliveries.ts"
import { filtering } from "./Filters.ts"
import { losing } from "./Losses.ts"
import { lists } from "./NewestDeliveries.ts"
import { ofEvent } from "./OfEvent.ts"
import { operations } from "./Operations.ts"
import { publishing } from "./Publish.ts"
import { choices } from "./PublishChoices.ts"
import { keys } from "./PublishKeys.ts"
import { publishingOne } from "./PublishOne.ts"
import { purging } from "./Purge.ts"
import { rates } from "./Rates.ts"
import { recordings } from "./Record.ts"
import { replaying } from "./Replay.ts"
import { replaySteps } from "./ReplaySteps.ts"
import { retention } from "./Retention.ts"
import { rows } from "./Rows.ts"
import { shards } from "./ShardLocks.ts"
import type { Scenario } from "./Stage.ts"
import { standing } from "./StandsAt.ts"
import { statistics } from "./Statistics.ts"
import { sweeping } from "./Sweep.ts"
import { tables } from "./Tables.ts"
import { tokens } from "./Tokens.ts"
import { unseen } from "./Unsent.ts"

export const scenarios: ReadonlyArray<Scenario> = [
  ...tables,
  ...publishing,
  ...publishingOne,
  ...ofEvent,
  ...lists,
  ...keys,
  ...choices,
  ...filtering,
  ...recordings,
  ...holding,
  ...burials,
  ...engine,
  ...rates,
  ...sweeping,
  ...retention,
  ...failures,
  ...losing,
  ...purging,
  ...replaying,
  ...replaySteps,
  ...unseen,
  ...tokens,
  ...endpoints,
  ...rows,
  ...shards,
  ...standing,
  ...statistics,
  ...catalogue,
  ...alerts,
  ...operations
]

export const scenariosOf = (name: string): ReadonlyArray<Scenario> =>
  scenarios.filter(({ of }) => of.includes(name))
