/** What the transports need to know of this installation. The cli reads it from the environment. */
import type { Bucket, Quota } from "@posthorn/domain/Bucket"
import { Context, type Redacted } from "effect"

export class ServerConfig extends Context.Tag("@posthorn/server/ServerConfig")<
  ServerConfig,
  {
    readonly host: string
    readonly port: number
    /** Public address, without a slash at the end; used in links. */
    readonly baseUrl: string
    readonly operatorToken: Redacted.Redacted
    /** Null switches a bucket off. */
    readonly quotas: Readonly<Record<Bucket, Quota | null>>
    readonly version: string
  }
>() {}
