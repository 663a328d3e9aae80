/**
 * A running Posthorn for the commands: the typed client, the token's workspace, and the exact text of answers.
 *
 * Address and token come from flags or from POSTHORN_URL (else BASE_URL) and POSTHORN_TOKEN; for the operator's token, the
 * workspace comes from `--workspace` or POSTHORN_WORKSPACE. A refusal ends the command with the answer's `detail`. Source: spec §5.1 and §7.1.
 */
import { FetchHttpClient, HttpClient, HttpClientRequest, HttpClientResponse } from "@effect/platform"
import { make as makeClient, type PosthornClient } from "@posthorn/client/PosthornClient"
import { Config, Context, Effect, Layer, Option, ParseResult, Redacted } from "effect"
import { CommandFailed, misused, refuse } from "../command/CommandFailed.ts"
import { unreachable } from "./Unreachable.ts"

/** Flags that every command takes. */
export interface Where {
  readonly url: Option.Option<string>
  readonly token: Option.Option<Redacted.Redacted>
  readonly workspace: Option.Option<string>
}

/** An answer, decoded, and its exact text. */
export interface Answered<A> {
  readonly value: A
  readonly text: string
}

export class Posthorn extends Context.Tag("@posthorn/cli/remote/Posthorn")<
  Posthorn,
  {
    readonly slug: string
    readonly ask: <A, E>(
      call: (client: PosthornClient) => Effect.Effect<readonly [A, ...ReadonlyArray<unknown>], E>
    ) => Effect.Effect<Answered<A>, CommandFailed>
    /** Sends JSON text unchanged: a client that parsed it would lose the spelling of numbers. */
    readonly sendText: (
      method: "POST" | "PUT",
      path: string,
      json: string
    ) => Effect.Effect<string, CommandFailed>
    /** Any request; `etag` of what is changed makes it 412 if somebody else changed it. */
    readonly exchange: (
      method: "DELETE" | "GET" | "PATCH" | "POST" | "PUT",
      path: string,
      json?: string,
      etag?: string
    ) => Effect.Effect<{ readonly text: string; readonly etag: string | undefined }, CommandFailed>
  }
>() {}

const setting = (name: string, given: Option.Option<string>) =>
  Effect.map(
    Effect.orElseSucceed(Config.option(Config.string(name)), () => Option.none<string>()),
    (variable) =>
      Option.filter(
        Option.orElse(given, () => variable),
        (text) => text.trim() !== ""
      )
  )

/** The refusal does not repeat the address: a password may be in it. */
const baseOf = (text: string) => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url !== undefined && /^https?:$/.test(url.protocol)
    ? Effect.succeed(`${url.origin}${url.pathname.replace(/\/+$/, "")}`)
    : misused("POSTHORN_URL (or --url) must be an http or https address such as https://hooks.example.com")
}

/** Characters allowed in a header. Others would fail before the request is sent, and look like a connection failure. */
const VISIBLE = /^[\x21-\x7e]+$/

const connection = ({ token, url }: Where) =>
  Effect.gen(function* () {
    const named = yield* setting("POSTHORN_URL", url)
    const address = Option.isSome(named) ? named : yield* setting("BASE_URL", Option.none())
    const secret = yield* setting("POSTHORN_TOKEN", Option.map(token, Redacted.value))
    if (Option.isNone(address))
      return yield* misused("Which Posthorn? Set POSTHORN_URL, or give --url https://hooks.example.com")
    if (Option.isNone(secret))
      return yield* misused("Who is asking? Set POSTHORN_TOKEN, or give --token phk_…")
    const text = secret.value.trim()
    if (!VISIBLE.test(text))
      return yield* misused(
        "POSTHORN_TOKEN (or --token) holds characters that no token has: copy it again, without spaces, line breaks or quotes"
      )
    return { baseUrl: yield* baseOf(address.value.trim()), token: Redacted.make(text) }
  })

interface Problem {
  readonly detail?: unknown
}

const detailOf = (text: string): string | undefined => {
  try {
    const { detail } = JSON.parse(text) as Problem
    return typeof detail === "string" ? detail : undefined
  } catch {
    return undefined
  }
}

/** In the server's form: the position, and what was expected there. */
const issueOf = (error: ParseResult.ParseError): string => {
  const [issue] = ParseResult.ArrayFormatter.formatErrorSync(error)
  return `/${issue?.path.join("/") ?? ""}: ${issue?.message ?? "is not valid"}`
}

export const layer = (where: Where): Layer.Layer<Posthorn, CommandFailed> =>
  Layer.effect(
    Posthorn,
    Effect.gen(function* () {
      const { baseUrl, token } = yield* connection(where)
      /** The last answer: its status and its exact text. */
      let last: { readonly status: number; readonly text: string } | undefined
      const http = (yield* HttpClient.HttpClient).pipe(
        HttpClient.withTracerPropagation(false),
        HttpClient.transformResponse(
          Effect.flatMap((response) =>
            Effect.map(response.text, (text) => {
              last = { status: response.status, text }
              // A body can be read only once, and the client reads it too.
              const { headers, request, status } = response
              const body = text === "" ? null : text
              return HttpClientResponse.fromWeb(request, new Response(body, { status, headers }))
            })
          )
        )
      )
      const client = yield* Effect.provideService(makeClient({ baseUrl, token }), HttpClient.HttpClient, http)

      const explain = (error: unknown) => {
        const detail = last === undefined || last.status < 400 ? undefined : detailOf(last.text)
        if (detail !== undefined) return refuse(detail)
        // Not sent: the contract does not allow it.
        if (last === undefined && ParseResult.isParseError(error)) return misused(issueOf(error))
        if (last === undefined)
          return Effect.fail(
            new CommandFailed({ line: unreachable(baseUrl, error), code: 1, isUnanswered: true })
          )
        return refuse(
          last.status < 400
            ? `${baseUrl} gave an answer that this version of the command does not understand.`
            : `${baseUrl} answered ${last.status}, which Posthorn would not: check POSTHORN_URL.`
        )
      }

      const answered = <A, E>(effect: Effect.Effect<A, E>) =>
        Effect.suspend(() => {
          last = undefined
          return Effect.catchAll(effect, explain)
        })

      const exchange: Posthorn["Type"]["exchange"] = (method, path, json, etag) =>
        answered(
          HttpClientRequest.make(method)(`${baseUrl}${path}`).pipe(
            HttpClientRequest.bearerToken(token),
            json === undefined ? (request) => request : HttpClientRequest.bodyText(json, "application/json"),
            etag === undefined ? (request) => request : HttpClientRequest.setHeader("if-match", etag),
            http.execute,
            Effect.filterOrFail(({ status }) => status < 400),
            Effect.flatMap((response) =>
              Effect.map(response.text, (text) => ({ text, etag: response.headers.etag }))
            )
          )
        )

      const sendText = (method: "POST" | "PUT", path: string, json: string) =>
        Effect.map(exchange(method, path, json), ({ text }) => text)

      const ask = <A, E>(
        call: (client: PosthornClient) => Effect.Effect<readonly [A, ...ReadonlyArray<unknown>], E>
      ) => answered(Effect.map(call(client), ([value]): Answered<A> => ({ value, text: last?.text ?? "" })))

      const slug = Effect.gen(function* () {
        const chosen = yield* setting("POSTHORN_WORKSPACE", where.workspace)
        if (Option.isSome(chosen)) return chosen.value
        const { value } = yield* ask(({ caller }) => caller.getCaller({ withResponse: true }))
        return value.workspace === null
          ? yield* misused(
              "The operator's token is of no workspace: set POSTHORN_WORKSPACE, or give --workspace acme"
            )
          : value.workspace.slug
      })
      return { slug: yield* slug, ask, exchange, sendText }
    })
  ).pipe(Layer.provide(FetchHttpClient.layer))
