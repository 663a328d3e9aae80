/**
 * What has to change so that a workspace is as a file declares it. Pure.
 *
 * Members that the file does not name stay as they are. Two values are the same when their JSON is, whatever the order of an object's
 * members; in a filter the order counts. Secrets are never compared: nobody may read them.
 */
import { type Declared, hasSecrets, hasUrls, type Members, shown, shownSettings } from "./DeclaredFile.ts"

export interface Difference {
  readonly field: string
  readonly from: unknown
  readonly to: unknown
}

export interface Change {
  readonly of: "endpoint" | "event type" | "settings"
  readonly action: "create" | "delete" | "update"
  /** External id or event type; of settings empty. */
  readonly name: string
  readonly id: string
  readonly differences: ReadonlyArray<Difference>
  /** What is sent: all members of what is made, of the rest those that differ. */
  readonly members: Members
  /** Whether secrets are among them, to be read from the environment. */
  readonly sendsSecrets: boolean
}

export interface Present {
  readonly endpoints: ReadonlyArray<Members>
  readonly eventTypes: ReadonlyArray<Members>
  readonly settings: Members
}

export interface PlanOptions {
  readonly prune: boolean
  /** Sends the secrets of requests again. */
  readonly secrets: boolean
}

const sorted = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(sorted)
    : typeof value === "object" && value !== null
      ? Object.fromEntries(
          Object.entries(value)
            .filter(([, inner]) => inner !== undefined)
            .sort(([one], [other]) => (one < other ? -1 : 1))
            .map(([name, inner]) => [name, sorted(inner)])
        )
      : value

const spelt = (field: string, value: unknown) => {
  if (field === "url" && typeof value === "string" && URL.canParse(value)) return new URL(value).href
  return JSON.stringify(field === "filter" ? value : sorted(value))
}

const differencesOf = (wanted: Members, present: Members): ReadonlyArray<Difference> =>
  Object.entries(wanted)
    .filter(([field, to]) => spelt(field, to) !== spelt(field, present[field]))
    .map(([field, to]) => ({ field, from: present[field], to }))

const only = (members: Members, differences: ReadonlyArray<Difference>): Members =>
  Object.fromEntries(differences.map(({ field }) => [field, members[field]]))

/** The defaults of what is made. */
const NOTHING: Members = {}

export const planOf = (declared: Declared, present: Present, options: PlanOptions): ReadonlyArray<Change> => {
  const changes: Array<Change> = []

  const typesByName = new Map(present.eventTypes.map((one) => [one.eventType, one]))
  for (const { eventType, ...said } of declared.eventTypes ?? []) {
    const found = typesByName.get(eventType)
    const differences = differencesOf(said, found ?? NOTHING)
    if (found !== undefined && differences.length === 0) continue
    const { createdAt: _, deviations: _1, eventType: _2, updatedAt: _3, ...stays } = found ?? NOTHING
    const action = found === undefined ? "create" : "update"
    const members = { ...stays, ...said }
    changes.push({
      of: "event type",
      action,
      name: eventType,
      id: eventType,
      differences,
      members,
      sendsSecrets: false
    })
  }

  if (declared.settings !== undefined) {
    const { settings } = declared
    const found = differencesOf(shownSettings(settings), shownSettings(present.settings))
    const urls = hasUrls(settings) && (options.secrets || found.some(({ field }) => field === "alerts"))
    const isAgain = urls && !found.some(({ field }) => field === "alerts")
    if (found.length > 0 || isAgain)
      changes.push({
        of: "settings",
        action: "update",
        name: "",
        id: "",
        differences: isAgain ? [...found, { field: "secrets", from: undefined, to: undefined }] : found,
        members: { ...only(settings, found), ...(isAgain ? { alerts: settings.alerts } : {}) },
        sendsSecrets: urls
      })
  }

  const byExternalId = new Map(present.endpoints.map((one) => [one.externalId, one]))
  for (const endpoint of declared.endpoints ?? []) {
    const { externalId: name } = endpoint
    const found = byExternalId.get(name)
    if (found === undefined) {
      const differences = differencesOf(shown(endpoint), NOTHING)
      changes.push({
        of: "endpoint",
        action: "create",
        name,
        id: "",
        differences,
        members: endpoint,
        sendsSecrets: true
      })
      continue
    }
    const wanted = shown(endpoint)
    const differences = differencesOf(wanted, shown(found))
    const sendsSecrets = options.secrets && hasSecrets(endpoint)
    if (differences.length === 0 && !sendsSecrets) continue
    changes.push({
      of: "endpoint",
      action: "update",
      name,
      id: String(found.id),
      differences: sendsSecrets
        ? [...differences, { field: "secrets", from: undefined, to: undefined }]
        : differences,
      members: { ...only(wanted, differences), ...(sendsSecrets ? { request: endpoint.request } : {}) },
      sendsSecrets
    })
  }

  if (!options.prune) return changes
  const remove = (of: Change["of"], name: string, id: string) =>
    changes.push({ of, action: "delete", name, id, differences: [], members: {}, sendsSecrets: false })
  const declaredIds = new Set(declared.endpoints?.map(({ externalId }) => externalId))
  for (const { externalId, id } of declared.endpoints === undefined ? [] : present.endpoints)
    if (typeof externalId === "string" && !declaredIds.has(externalId))
      remove("endpoint", externalId, String(id))
  const declaredTypes = new Set(declared.eventTypes?.map(({ eventType }) => eventType))
  for (const { eventType } of declared.eventTypes === undefined ? [] : present.eventTypes)
    if (!declaredTypes.has(String(eventType))) remove("event type", String(eventType), String(eventType))
  return changes
}

const SIGNS = { create: "+", update: "~", delete: "-" }

const json = (value: unknown) => (value === undefined ? "nothing" : JSON.stringify(value))

/** A line for each change and each member that changes, as people read a diff. */
export const told = (changes: ReadonlyArray<Change>): string =>
  changes
    .flatMap(({ action, differences, name, of }) => [
      `${SIGNS[action]} ${[of, name].filter((word) => word !== "").join(" ")}`,
      ...differences.map(({ field, from, to }) =>
        field === "secrets"
          ? "    secrets are sent again"
          : action === "create"
            ? `    ${field}: ${json(to)}`
            : `    ${field}: ${json(from)} → ${json(to)}`
      )
    ])
    .join("\n")
