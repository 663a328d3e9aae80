/** What the transports need to know of this installation. The cli reads it from the environment. */
import type { OperatorToken } from "@posthorn/capabilities/Operators"
import type { Bucket, Quota } from "@posthorn/domain/Bucket"
import type { Network } from "@posthorn/domain/IpAddress"
import { Context } from "effect"

export class ServerConfig extends Context.Tag("@posthorn/server/ServerConfig")<
  ServerConfig,
  {
    readonly host: string
    readonly port: number
    /** Public address, without a slash at the end; used in links. */
    readonly baseUrl: string
    readonly operatorTokens: ReadonlyArray<OperatorToken>
    /** Null switches a bucket off. */
    readonly quotas: Readonly<Record<Bucket, Quota | null>>
    /** Proxies whose `Forwarded` and `X-Forwarded-For` are believed; by default none. */
    readonly trustedProxies: ReadonlyArray<Network>
    /** For so long it goes on serving once it is told to stop, and says that it is not ready. */
    readonly drainSeconds: number
    readonly version: string
  }
>() {}
