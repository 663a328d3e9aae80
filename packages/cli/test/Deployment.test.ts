/** The files in docker/: every setting reaches the commands that read it, and no role gets another's secrets. */
import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"
import { parse, parseAllDocuments } from "yaml"
import { knownVariables, type VariableName, variables } from "../src/settings/Variables.ts"

const docker = (path: string) => fileURLToPath(new URL(`../../../docker/${path}`, import.meta.url))

type Values = Readonly<Record<string, string | null>>

interface Service {
  readonly command?: ReadonlyArray<string>
  readonly environment: Values
}

const { services } = parse(readFileSync(docker("compose.yaml"), "utf8"), { merge: true }) as {
  readonly services: Readonly<Record<"database" | "migrate" | "serve" | "work", Service>>
}

const small = parse(readFileSync(docker("small.yaml"), "utf8")) as {
  readonly services: Readonly<
    Record<"serve" | "work", Service & { readonly profiles?: ReadonlyArray<string> }>
  >
}

interface Container {
  readonly args: readonly [string]
  readonly env?: ReadonlyArray<{
    readonly name: string
    readonly value?: string
    readonly valueFrom?: { readonly secretKeyRef: { readonly name: string } }
  }>
  readonly envFrom?: ReadonlyArray<Readonly<Record<string, { readonly name: string }>>>
}

interface Manifest {
  readonly kind: string
  readonly data?: Values
  readonly spec?: { readonly template?: { readonly spec: { readonly containers: readonly [Container] } } }
}

const manifests = readdirSync(docker("kubernetes")).flatMap((file) =>
  parseAllDocuments(readFileSync(docker(`kubernetes/${file}`), "utf8")).map((one) => one.toJS() as Manifest)
)

const NOT_FOR_COMPOSE: Partial<Record<VariableName, string>> = {
  DATA_DIR: "dev's alone, which is not in the image",
  NODE_ENV: "the image sets it",
  PORT: "the image sets it; the port outside is chosen under `ports`"
}

/** Each of their tokens is a separate right. */
const OF_ONE_ROLE = { OPERATOR_TOKEN: "serve", REDIS_URL: "serve" } as const

describe("docker/compose.yaml", () => {
  const { migrate, serve, work } = services

  it("§10 passes every setting on, and no other name", () => {
    const passed = new Set([serve, work].flatMap(({ environment }) => Object.keys(environment)))
    const missing = Object.keys(variables).filter((name) => !passed.has(name) && !(name in NOT_FOR_COMPOSE))
    expect(missing).toEqual([])
    expect([...passed].filter((name) => !knownVariables.includes(name))).toEqual([])
    expect(Object.keys(NOT_FOR_COMPOSE).filter((name) => passed.has(name))).toEqual([])
  })

  it("§12 gives the owner's password to `migrate` only, and each role the secrets it needs", () => {
    expect(migrate.environment.DATABASE_URL).toContain("posthorn_owner:$" + "{OWNER_PASSWORD")
    for (const { environment } of [serve, work]) {
      expect(environment.DATABASE_URL).toContain("posthorn_run:$" + "{RUN_PASSWORD")
      expect(JSON.stringify(environment)).not.toMatch(/OWNER|POSTGRES_PASSWORD/)
    }
    expect(
      Object.keys(migrate.environment).filter((name) => name !== "DATABASE_URL" && /TOKEN|KEY|URL/.test(name))
    ).toEqual([])
    for (const [name, role] of Object.entries(OF_ONE_ROLE)) {
      const roles = Object.entries({ migrate, serve, work }).filter(
        ([, { environment }]) => name in environment
      )
      expect(roles.map(([of]) => of)).toEqual([role])
    }
  })
})

describe("docker/small.yaml", () => {
  it("§10 runs one process instead of two, with the settings of both", () => {
    const run = { ...services.serve.environment, ...small.services.serve.environment }
    expect(small.services.serve.command).toEqual(["run"])
    expect(small.services.work.profiles).toHaveLength(1)
    // One port has the meters of both.
    const missing = Object.keys(services.work.environment).filter((name) => !(name in run))
    expect(missing).toEqual(["HOST", "METRICS_PORT"])
  })
})

describe("docker/kubernetes", () => {
  const containers = manifests.flatMap(({ spec }) => spec?.template?.spec.containers ?? [])
  const container = (role: string) => containers.find(({ args }) => args[0] === role)!

  it("§10 gives `serve` and `work` every setting of the ConfigMap, which holds known names and no secret", () => {
    const [settings] = manifests.filter(({ kind }) => kind === "ConfigMap")
    const secrets = Object.entries(variables).flatMap(([name, one]) => ("isSecret" in one ? [name] : []))
    const names = Object.keys(settings!.data!)
    expect(names.filter((name) => !Object.hasOwn(variables, name) || secrets.includes(name))).toEqual([])
    for (const role of ["serve", "work"])
      expect(container(role).envFrom).toContainEqual({ configMapRef: { name: "posthorn-settings" } })
  })

  it("§12 references secrets, and gives the owner's to `migrate` only", () => {
    expect(manifests.some(({ kind }) => kind === "Secret")).toBe(false)
    const secretsOf = (role: string) => [
      ...(container(role).envFrom ?? []).flatMap(({ secretRef }) => secretRef?.name ?? []),
      ...(container(role).env ?? []).flatMap(({ valueFrom }) => valueFrom?.secretKeyRef.name ?? [])
    ]
    expect(secretsOf("migrate")).toEqual(["posthorn-owner"])
    expect(secretsOf("serve")).toEqual(["posthorn-run", "posthorn-serve"])
    expect(secretsOf("work")).toEqual(["posthorn-run"])
  })

  it("§10 sets only variables that Posthorn knows", () => {
    const names = containers.flatMap(({ env = [] }) => env.map(({ name }) => name))
    expect(names.filter((name) => !knownVariables.includes(name))).toEqual([])
  })
})
