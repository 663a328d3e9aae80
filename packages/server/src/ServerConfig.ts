/** The transports' settings. The cli reads them from the environment. */
import type { OperatorToken } from "@posthorn/capabilities/Operators"
import type { Bucket, Quota } from "@posthorn/domain/Bucket"
import type { Network } from "@posthorn/domain/IpAddress"
import { Context } from "effect"

export class ServerConfig extends Context.Tag("@posthorn/server/ServerConfig")<
  ServerConfig,
  {
    /** The address to listen on. Defaults to 127.0.0.1. */
    readonly host: string
    /** The port to listen on; 0 takes a free one. Defaults to 8484. */
    readonly port: number
    /** The public address, without a slash at the end; used in links. Defaults to host and port. */
    readonly baseUrl: string
    /** The operators' tokens: the platform's own keys. They have no default. */
    readonly operatorTokens: ReadonlyArray<OperatorToken>
    /** The quota of each bucket; null switches a bucket off. Defaults to `defaultQuotas` of the domain's `Bucket.ts`. */
    readonly quotas: Readonly<Record<Bucket, Quota | null>>
    /** Proxies whose `Forwarded` and `X-Forwarded-For` are trusted. Defaults to none. */
    readonly trustedProxies: ReadonlyArray<Network>
    /** How long it keeps serving after it is told to stop, while it reports that it is not ready. Defaults to 10; 0 in `dev`. */
    readonly drainSeconds: number
    /** Whether `/event-types.json` shows the catalogue to everybody. Defaults to false. */
    readonly publicCatalogue: boolean
    /** Posthorn's version. */
    readonly version: string
  }
>() {}
