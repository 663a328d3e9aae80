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

/** Each place of a request's authentication that holds a secret. */
const SECRETS = ["password", "token", "clientSecret", "privateKey"]
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
      ? { authentication: without(authentication, [...SECRETS, "fingerprint", "secret"]) }
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

const REFERENCE = /^\$\{([A-Za-z_]\w*)\}$/

/** The variables that a value names and the environment lacks. */
export const unsetIn = (value: unknown, environment: NodeJS.ProcessEnv): ReadonlyArray<string> => {
  if (typeof value === "string") {
    const name = REFERENCE.exec(value)?.[1]
    return name !== undefined && environment[name] === undefined ? [name] : []
  }
  return typeof value === "object" && value !== null
    ? Object.values(value).flatMap((inner) => unsetIn(inner, environment))
    : []
}

/** The members with what their `${NAME}` stand for; only secrets are read from the environment. */
export const withSecrets = (endpoint: Members, environment: NodeJS.ProcessEnv): Members => {
  const read = (value: unknown) => {
    const name = typeof value === "string" ? REFERENCE.exec(value)?.[1] : undefined
    return name === undefined ? value : environment[name]
  }
  const filled = (value: Members, names: ReadonlyArray<string>): Members =>
    Object.fromEntries(
      Object.entries(value).map(([name, one]) => [name, names.includes(name) ? read(one) : one])
    )
  const request = endpoint.request
  if (!isObject(request)) return filled(endpoint, ["signingSecret"])
  const { authentication, headers } = request
  return {
    ...filled(endpoint, ["signingSecret"]),
    request: {
      ...request,
      ...(Array.isArray(headers) && {
        headers: headers.map((one) => (isObject(one) && one.secret === true ? filled(one, ["value"]) : one))
      }),
      ...(isObject(authentication) && { authentication: filled(authentication, SECRETS) })
    }
  }
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
          ({ message, path }) => `${[place, ...path.map(String)].join("/")}: ${message}`
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

/** Reads the text; Left has all that is wrong with it, by place, and repeats no secret. */
export const readDeclared = (text: string): Either.Either<Declared, ReadonlyArray<string>> => {
  let value: unknown
  try {
    value = parse(text)
  } catch {
    return Either.left(["It is neither JSON nor YAML"])
  }
  if (!isObject(value)) return Either.left(["Expected an object with endpoints, settings or eventTypes"])
  const { endpoints, eventTypes, settings, ...others } = value
  const faults = [
    ...Object.keys(others).map((name) => `/${name}: is not endpoints, settings or eventTypes`),
    ...faultsOf(endpoints, "endpoints", "externalId", (endpoint, at) => [
      ...["url", "eventTypes"]
        .filter((name) => !(name in endpoint))
        .map((name) => `${at}/${name}: is missing`),
      ...takes.endpoint(shown(endpoint), at)
    ]),
    ...faultsOf(eventTypes, "eventTypes", "eventType", (one, at) =>
      takes.eventType(without(one, ["eventType"]), at)
    ),
    ...(settings === undefined ? [] : takes.settings(settings, "/settings"))
  ]
  return faults.length > 0 ? Either.left(faults) : Either.right(value as Declared)
}

/** `ORDERS_AUTHORIZATION` for a secret of the endpoint `orders`. */
const variable = (...words: ReadonlyArray<string>) =>
  `\${${words
    .map((word) => word.replace(/[^A-Za-z0-9]+/g, "_").toUpperCase())
    .join("_")
    .replace(/^(?=\d)/, "_")}}`

const withReferences = (externalId: string, request: unknown): unknown => {
  const bare = withoutSecrets(request)
  if (!isObject(bare)) return bare
  const { authentication, headers } = bare
  const secretOf: Readonly<Record<string, string>> = {
    basic: "password",
    bearer: "token",
    oauth2: "clientSecret",
    mtls: "privateKey"
  }
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
        [secretOf[String(authentication.kind)]!]: variable(externalId, "authentication")
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
}): Members => ({
  settings: present.settings,
  endpoints: present.endpoints.flatMap((endpoint) => {
    const { disabledReason, eventTypes, externalId, url } = endpoint
    if (typeof externalId !== "string") return []
    const said = ENDPOINT.filter((name) => isSaid(endpoint[name])).map((name) => [
      name,
      name === "request" ? withReferences(externalId, endpoint.request) : endpoint[name]
    ])
    return [
      {
        externalId,
        url,
        eventTypes,
        ...Object.fromEntries(said),
        // One that failures disabled is not declared to be so.
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
})
