/** PostgreSQL over TLS: the certificate is verified, by authority and by name, and faults are reported in one line. */
import { chmodSync, chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, layer } from "@effect/vitest"
import { authority, type Certificate, certificate } from "@posthorn/testkit/Certificates"
import { makeBundle, runCommand } from "@posthorn/testkit/Command"
import * as OwnCluster from "@posthorn/testkit/OwnCluster"
import { Context, Effect, Layer, Redacted } from "effect"
import pg from "pg"

class TlsCluster extends Context.Tag("TlsCluster")<
  TlsCluster,
  {
    /** The certificate that the server shows from now on; null switches TLS off. */
    readonly show: (name: Certificate | null) => Effect.Effect<void>
    /** `posthorn migrate` against it. */
    readonly migrate: (
      query: string
    ) => Effect.Effect<{ readonly code: number | null; readonly said: string }>
    /** The authority's file. */
    readonly ca: string
    readonly sql: (statement: string) => Effect.Effect<ReadonlyArray<Record<string, unknown>>>
  }
>() {}

const run = (url: string) =>
  Effect.map(
    Effect.promise(() => runCommand(["migrate"], { DATABASE_URL: url })),
    ({ code, err, out }) => ({ code, said: out + err })
  )

const live = Layer.scoped(
  TlsCluster,
  Effect.gen(function* () {
    yield* Effect.promise(makeBundle)
    const cluster = yield* OwnCluster.make
    const url = Redacted.value(cluster.url)
    const folder = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "posthorn-tls-"))),
      (path) => Effect.sync(() => rmSync(path, { recursive: true }))
    )
    chmodSync(folder, 0o755)
    const client = new pg.Client(url)
    yield* Effect.acquireRelease(
      Effect.promise(() => client.connect()),
      () => Effect.promise(() => client.end())
    )
    const sql = (statement: string) =>
      Effect.promise(async () => (await client.query<Record<string, unknown>>(statement)).rows)
    const [backend] = yield* sql("select pg_backend_pid() as pid")
    const { gid, uid } = statSync(`/proc/${backend?.pid}`)
    const put = (name: string, text: string) => {
      const path = join(folder, name)
      writeFileSync(path, text)
      chownSync(path, uid, gid)
      chmodSync(path, 0o600)
      return path
    }
    const ca = join(folder, "ca.pem")
    writeFileSync(ca, authority())

    const reload = (settings: Readonly<Record<string, string>>) =>
      Effect.gen(function* () {
        for (const [name, value] of Object.entries(settings))
          yield* sql(`alter system set ${name} = '${value}'`)
        yield* sql("select pg_reload_conf()")
        // Each new connection reads them, once the postmaster has handled the signal.
        yield* Effect.promise(async () => {
          for (;;) {
            const other = new pg.Client(url)
            await other.connect()
            const { rows } = await other.query(`show ssl_cert_file`)
            const { rows: on } = await other.query(`show ssl`)
            await other.end()
            const seen = on[0].ssl === "off" ? "off" : rows[0].ssl_cert_file
            if (seen === (settings.ssl === "off" ? "off" : settings.ssl_cert_file)) return
          }
        })
      })

    let shown = 0
    return {
      ca,
      sql,
      migrate: (query) => run(`${url}${query}`),
      show: (name) => {
        if (name === null) return reload({ ssl: "off" })
        const { cert, key } = certificate(name)
        const files = { cert: put(`${++shown}.pem`, cert), key: put(`${shown}.key`, key) }
        return reload({ ssl: "on", ssl_cert_file: files.cert, ssl_key_file: files.key })
      }
    }
  })
)

const refused = (why: string) => ({
  code: 1,
  said: `posthorn: The database of DATABASE_URL cannot be reached: ${why}\n`
})

const UNKNOWN =
  "nobody known vouches for its certificate: name its authority with sslrootcert=/path/to/ca.pem. Check DATABASE_URL."

layer(live, { excludeTestServices: true, timeout: "240 seconds" })("DATABASE_URL with TLS", (it) => {
  it.effect("§10 connects when the authority is named, and refuses a server with an unknown authority", () =>
    Effect.gen(function* () {
      const { ca, migrate, show } = yield* TlsCluster
      yield* show("valid")

      const named = yield* migrate(`?sslmode=verify-full&sslrootcert=${ca}`)
      const unnamed = yield* migrate("?sslmode=verify-full")
      const required = yield* migrate("?sslmode=require")

      expect(named).toEqual({ code: 0, said: "The database is up to date.\n" })
      expect(unnamed).toEqual(refused(UNKNOWN))
      expect(required, "require verifies too, without a page about it").toEqual(refused(UNKNOWN))
    })
  )

  it.effect("§10 refuses a certificate of another name, of another authority, and an expired one", () =>
    Effect.gen(function* () {
      const { ca, migrate, show } = yield* TlsCluster
      const answerTo = (name: Certificate) =>
        Effect.zipRight(show(name), migrate(`?sslmode=verify-full&sslrootcert=${ca}`))

      expect(yield* answerTo("other-name")).toEqual(
        refused("its certificate is for another host name. Check DATABASE_URL.")
      )
      expect(yield* answerTo("other-ca")).toEqual(refused(UNKNOWN))
      expect(yield* answerTo("expired")).toEqual(refused("its certificate has expired. Check DATABASE_URL."))
    })
  )

  it.effect("§10 reports a server that does not speak TLS", () =>
    Effect.gen(function* () {
      const { migrate, show } = yield* TlsCluster
      yield* show(null)

      expect(yield* migrate("?sslmode=verify-full")).toEqual(
        refused("it does not speak TLS. Switch `ssl` on there, or take sslmode out of DATABASE_URL.")
      )
    })
  )

  it.effect("§10 refuses to switch the check off, and a missing file", () =>
    Effect.gen(function* () {
      const { migrate } = yield* TlsCluster

      const unchecked = yield* migrate("?sslmode=no-verify")
      const missing = yield* migrate("?sslmode=verify-full&sslrootcert=/nowhere/ca.pem")

      expect(unchecked.said).toMatch(
        /^posthorn: DATABASE_URL has sslmode=no-verify, but certificates are always/
      )
      expect(missing.said).toMatch(
        /^posthorn: DATABASE_URL names the sslrootcert \/nowhere\/ca\.pem, which cannot be read/
      )
    })
  )
})
