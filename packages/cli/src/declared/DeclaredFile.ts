/**
 * A file that declares endpoints, settings and event types, as JSON or YAML; and the same file written from what is there.
 *
 * `endpoints` are named by their external id, `eventTypes` by their event type; else all three are as the operations take them, and
 * what the contract does not know is refused. A secret is `${NAME}`, read from the environment when it is sent, so a file holds none.
 * Whether Posthorn takes the values is Posthorn's to say. Source: spec §13.
 */
import { entries } from "@posthorn/api-contract/Contract"
import { Either, Option, ParseResult, Schema } from "effect"
import { parse } from "yaml"

export interface Members {
  readonly [name: string]: unknown
}

export interface Declared {
  readonly endpoints?: ReadonlyArray<Members & { readonly externalId: string }>
  readonly eventTypes?: ReadonlyArray<Members & { readonly eventType: string }>
  readonly settings?: Members
}

/** The member of each kind of authentication that is secret. */
const SECRETS: Readonly<Record<string, string>> = {
  basic: "password",
  bearer: "token",
  oauth2: "clientSecret",
  mtls: "privateKey"
}
/** Sent when the endpoint is made, and never shown. */
const ONLY_MADE = ["signingSecret", "signingSecretEncoding"]

const isObject = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const without = (value: Members, names: ReadonlyArray<string>): Members =>
  Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name)))

/** A request's profile without its secrets and their fingerprints: sent like this, the stored secrets stay. */
export const withoutSecrets = (request: unknown): unknown => {
  if (!isObject(request)) return request
  const { authentication, headers, ...rest } = request
  const bare = (header: unknown) =>
    isObject(header) && header.secret === true ? without(header, ["value", "fingerprint"]) : header
  return {
    ...rest,
    ...(Array.isArray(headers) ? { headers: headers.map(bare) } : headers === undefined ? {} : { headers }),
    ...(isObject(authentication)
      ? { authentication: without(authentication, [...Object.values(SECRETS), "fingerprint", "secret"]) }
      : authentication === undefined
        ? {}
        : { authentication })
  }
}

/** An endpoint's members without secrets. */
export const shown = (endpoint: Members): Members => {
  const rest = without(endpoint, ONLY_MADE)
  return "request" in rest ? { ...rest, request: withoutSecrets(rest.request) } : rest
}

export const hasSecrets = (endpoint: Members): boolean =>
  JSON.stringify(withoutSecrets(endpoint.request)) !== JSON.stringify(endpoint.request)

/** Settings without the Slack URLs of their alerts and what stands for these. */
export const shownSettings = (settings: Members): Members =>
  Array.isArray(settings.alerts)
    ? {
        ...settings,
        alerts: settings.alerts.map((one) => (isObject(one) ? without(one, ["url", "fingerprint"]) : one))
      }
    : settings

export const hasUrls = ({ alerts }: Members): boolean =>
  Array.isArray(alerts) && alerts.some((one) => isObject(one) && "url" in one)

const REFERENCE = /^\$\{([A-Za-z_]\w*)\}$/

/** The endpoint with each of its secrets as `change` makes it; what is left out stays left out. `at` is its place. */
const mapSecrets = (endpoint: Members, change: (value: unknown, at: string) => unknown): Members => {
  const changed = (value: Members, name: string, at: string): Members =>
    name in value ? { ...value, [name]: change(value[name], `${at}/${name}`) } : value
  const made = changed(endpoint, "signingSecret", "")
  const { request } = made
  if (!isObject(request)) return made
  const { authentication, headers } = request
  return {
    ...made,
    request: {
      ...request,
      ...(Array.isArray(headers) && {
        headers: headers.map((one, index) =>
          isObject(one) && one.secret === true ? changed(one, "value", `/request/headers/${index}`) : one
        )
      }),
      ...(isObject(authentication) && {
        authentication: Object.values(SECRETS).reduce(
          (value, name) => changed(value, name, "/request/authentication"),
          authentication
        )
      })
    }
  }
}

/** The settings with each Slack URL of their alerts as `change` makes it. */
const mapUrls = (settings: Members, change: (value: unknown, at: string) => unknown): Members =>
  Array.isArray(settings.alerts)
    ? {
        ...settings,
        alerts: settings.alerts.map((one, index) =>
          isObject(one) && "url" in one
            ? { ...one, url: change(one.url, `/settings/alerts/${index}/url`) }
            : one
        )
      }
    : settings

const referenceIn = (value: unknown) => (typeof value === "string" ? REFERENCE.exec(value)?.[1] : undefined)

/** Each secret of an endpoint or of settings: neither has members of the other's name with secrets in them. */
const mapAll = (members: Members, change: (value: unknown, at: string) => unknown): Members =>
  mapUrls(mapSecrets(members, change), change)

/** The variables that its secrets name and the environment lacks. */
export const unsetIn = (members: Members, environment: NodeJS.ProcessEnv): ReadonlyArray<string> => {
  const unset: Array<string> = []
  mapAll(members, (value) => {
    const name = referenceIn(value)
    if (name !== undefined && environment[name] === undefined) unset.push(name)
    return value
  })
  return unset
}

/** The endpoint or the settings with what the `${NAME}` of their secrets stand for. */
export const withSecrets = (members: Members, environment: NodeJS.ProcessEnv): Members =>
  mapAll(members, (value) => environment[referenceIn(value) ?? ""])

const writtenSecrets = (members: Members, at: string): ReadonlyArray<string> => {
  const faults: Array<string> = []
  mapAll(members, (value, place) => {
    if (referenceIn(value) === undefined)
      faults.push(`${at}${place}: expected \${NAME}, the secret's variable in the environment`)
    return value
  })
  return faults
}

const accepts = (operation: string) => {
  const schema = Option.getOrThrow(entries.find(({ name }) => name === operation)!.bodySchema)
  const decode = Schema.decodeUnknownEither(schema as Schema.Schema<unknown>, {
    errors: "all",
    onExcessProperty: "error"
  })
  return (value: unknown, place: string): ReadonlyArray<string> =>
    Either.match(decode(value), {
      onRight: () => [],
      onLeft: (error) =>
        ParseResult.ArrayFormatter.formatErrorSync(error).map(
          // What stands there may be a secret.
          ({ message, path }) =>
            `${[place, ...path.map(String)].join("/")}: ${message.replace(/, actual [\s\S]*$/, "")}`
        )
    })
}

const takes = {
  endpoint: accepts("updateWebhookEndpoint"),
  eventType: accepts("putEventType"),
  settings: accepts("updateWorkspaceSettings")
}

/** What is wrong with a list whose items have a name of their own. */
const faultsOf = (
  list: unknown,
  place: string,
  name: string,
  faults: (item: Members, at: string) => ReadonlyArray<string>
): ReadonlyArray<string> => {
  if (list === undefined) return []
  if (!Array.isArray(list)) return [`/${place}: expected a list`]
  const names = list.map((item) => (isObject(item) ? item[name] : undefined))
  return list.flatMap((item, index) => {
    const at = `/${place}/${index}`
    if (!isObject(item)) return [`${at}: expected an object`]
    if (typeof item[name] !== "string") return [`${at}/${name}: is missing`]
    if (names.indexOf(item[name]) !== index) return [`${at}/${name}: ${item[name]} is declared twice`]
    return faults(item, at)
  })
}

/** Whole numbers as JavaScript holds them; `long` gets the places of those that it does not hold. */
const exact = (value: unknown, at: string, long: Array<string>): unknown => {
  if (typeof value === "bigint") {
    if (!Number.isSafeInteger(Number(value))) long.push(at)
    return Number(value)
  }
  if (Array.isArray(value)) return value.map((one, index) => exact(one, `${at}/${index}`, long))
  return isObject(value)
    ? Object.fromEntries(
        Object.entries(value).map(([name, one]) => [name, exact(one, `${at}/${name}`, long)])
      )
    : value
}

/** Reads the text; Left has all that is wrong with it, by place, and repeats no secret. */
export const readDeclared = (text: string): Either.Either<Declared, ReadonlyArray<string>> => {
  let value: unknown
  const long: Array<string> = []
  try {
    value = exact(parse(text, { intAsBigInt: true }), "", long)
  } catch {
    return Either.left(["It is neither JSON nor YAML"])
  }
  if (!isObject(value)) return Either.left(["Expected an object with endpoints, settings or eventTypes"])
  const { endpoints, eventTypes, settings, ...others } = value
  const faults = [
    ...long.map((at) => `${at}: has more digits than this command keeps: put it over REST`),
    ...Object.keys(others).map((name) => `/${name}: is not endpoints, settings or eventTypes`),
    ...faultsOf(endpoints, "endpoints", "externalId", (endpoint, at) => [
      ...["url", "eventTypes"]
        .filter((name) => !(name in endpoint))
        .map((name) => `${at}/${name}: is missing`),
      ...writtenSecrets(endpoint, at),
      ...takes.endpoint(shown(endpoint), at)
    ]),
    ...faultsOf(eventTypes, "eventTypes", "eventType", (one, at) =>
      takes.eventType(without(one, ["eventType"]), at)
    ),
    ...(settings === undefined
      ? []
      : [
          ...(isObject(settings) ? writtenSecrets(settings, "") : []),
          ...takes.settings(settings, "/settings")
        ])
  ]
  return faults.length > 0 ? Either.left(faults) : Either.right(value as Declared)
}

/** `${ORDERS_AUTHENTICATION}` for a secret of the endpoint `orders`; a name that is taken gets a number. */
const variables = () => {
  const taken = new Set<string>()
  return (...words: ReadonlyArray<string>) => {
    const wanted = words
      .map((word) => word.replace(/[^A-Za-z0-9]+/g, "_").toUpperCase())
      .join("_")
      .replace(/^(?=\d)/, "_")
    let name = wanted
    for (let count = 2; taken.has(name); count++) name = `${wanted}_${count}`
    taken.add(name)
    return `\${${name}}`
  }
}

const withReferences = (
  externalId: string,
  request: unknown,
  variable: ReturnType<typeof variables>
): unknown => {
  const bare = withoutSecrets(request)
  if (!isObject(bare)) return bare
  const { authentication, headers } = bare
  return {
    ...bare,
    ...(Array.isArray(headers) && {
      headers: headers.map((header: Members) =>
        header.secret === true ? { ...header, value: variable(externalId, String(header.name)) } : header
      )
    }),
    ...(isObject(authentication) && {
      authentication: {
        ...authentication,
        [SECRETS[String(authentication.kind)]!]: variable(externalId, "authentication")
      }
    })
  }
}

const isSaid = (value: unknown) =>
  value !== null && value !== undefined && !(isObject(value) && Object.keys(value).length === 0)

const ENDPOINT = ["description", "metadata", "policy", "request", "filter"]
const EVENT_TYPE = [
  "description",
  "group",
  "deprecated",
  "replacedBy",
  "hidden",
  "validation",
  "schema",
  "examples"
]

/** The file of what is there; endpoints without external id have no name in it. */
export const fileOf = (present: {
  readonly endpoints: ReadonlyArray<Members>
  readonly settings: Members
  readonly eventTypes?: ReadonlyArray<Members>
}): Members => {
  const variable = variables()
  return {
    settings: present.settings,
    endpoints: present.endpoints.flatMap((endpoint) => {
      const { disabledReason, eventTypes, externalId, url } = endpoint
      if (typeof externalId !== "string") return []
      const said = ENDPOINT.filter((name) => isSaid(endpoint[name])).map((name) => [
        name,
        name === "request" ? withReferences(externalId, endpoint.request, variable) : endpoint[name]
      ])
      return [
        {
          externalId,
          url,
          eventTypes,
          ...Object.fromEntries(said),
          // An endpoint that its failures disabled is left as it is.
          ...(disabledReason === "manual" ? { enabled: false } : {})
        }
      ]
    }),
    ...(present.eventTypes && {
      eventTypes: present.eventTypes.map((one) => ({
        eventType: one.eventType,
        ...Object.fromEntries(EVENT_TYPE.map((name) => [name, one[name]]))
      }))
    })
  }
}
