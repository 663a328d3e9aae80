/**
 * Tries ids that do not exist for a caller, of every kind at every position of a text in every operation of the contract, each time
 * beside an unknown id: both must be answered alike, and no answer may have a mark of what does not exist for it. New operations,
 * positions and kinds are included automatically.
 */
import { type ContractEntry, entries } from "@posthorn/api-contract/Contract"
import { oneIn } from "@posthorn/testkit/Sample"
import { Array as Arr, Effect } from "effect"
import type { World } from "../Samples.ts"
import { nobodys } from "./Tenants.ts"
import { askedOf, type Place, placesOf, type Told, type Transport } from "./Transports.ts"

export const operations = entries.filter(
  ({ inWorkspace, rules }) => inWorkspace && rules.permission !== "operator"
)

/** The caller's own workspace, with ids that do not exist. */
const nobodysWorld = (world: World): World => ({
  ...Object.fromEntries(Object.entries(world).map(([name, value]) => [name, nobodys(value)])),
  slug: world.slug
})

/** Differences between two equal calls: new ids and times, and the text that was sent. */
export const comparable = ({ status, text }: Told, sent: string) => ({
  status,
  text: (sent === "" ? text : text.replaceAll(sent, "SENT"))
    .replace(/phk_[A-Za-z0-9_]+|whsec_[A-Za-z0-9+/=]+|#code=[\w-]+/g, "SECRET")
    .replace(/\b[a-z]{3}_[0-9a-f]{29}\b|\b[0-9a-f]{32}\b/g, "ID")
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, "TIME")
    .replace(/"(oldestWaitingSeconds|webhook-timestamp)":"?\d+"?/g, '"$1":0')
    .replace(/"nextCursor":"[^"]+"/g, '"nextCursor":"CURSOR"')
})

/** Marks in an answer, except those sent in this or an earlier request. */
export const leaksIn = (text: string, marks: Iterable<string>, sent: ReadonlyArray<unknown>) =>
  [...marks].filter(
    (mark) => text.includes(mark) && !sent.some((each) => JSON.stringify(each).includes(mark))
  )

/** What was answered wrongly, and which combinations were tried: one in `n`, and always an id of the right kind. */
export const likeUnknown = (
  n: number,
  transport: Transport,
  world: World,
  foreign: Readonly<Record<string, string>>,
  marks: ReadonlySet<string>
) =>
  Effect.gen(function* () {
    const wrong: Array<unknown> = []

    /** Once with the foreign id and once with an unknown one. A call that would remove something gets unknown ids otherwise. */
    const compare = (entry: ContractEntry, { isPath, put }: Place, value: string) =>
      Effect.forEach([value, nobodys(value)], (sent) => {
        const removes = entry.method === "DELETE" && !isPath
        return Effect.map(
          transport.ask(entry, put(askedOf(entry, removes ? nobodysWorld(world) : world), sent)),
          (told) => [told, comparable(told, sent)] as const
        )
      })

    const tries = operations.flatMap((entry) =>
      placesOf(entry).flatMap((place) =>
        Object.entries(foreign)
          .filter(([kind]) => place.kind === undefined || place.kind === kind)
          .map(([kind, value]) => ({ entry, place, kind, value }))
      )
    )
    const [sampled, always] = Arr.partition(
      tries,
      ({ entry, kind, place }) =>
        [`path ${kind}`, `path ${kind}Id`, `query ${kind}Id`, "query target"].includes(place.name) ||
        (place.isPath && entry.name === "getTrace")
    )
    // A text in a body may be stored and appear in later answers, so these positions come last.
    const tried = [...always, ...oneIn(n, sampled)].toSorted(
      (x, y) => Number(y.place.isRead) - Number(x.place.isRead)
    )
    const kept: Array<string> = []
    for (const entry of operations.filter(({ method }) => method !== "DELETE"))
      yield* transport.ask(entry, askedOf(entry, world))
    for (const { entry, kind, place, value } of tried) {
      const [[theirs, one], [, other]] = (yield* compare(entry, place, value)) as never as [
        readonly [Told, Told],
        readonly [Told, Told]
      ]
      if (!place.isRead) kept.push(value)
      const leaks = leaksIn(theirs.text, marks, [value, ...kept])
      const isSame = one.status === other.status && one.text === other.text
      const isFound = place.isPath && ![403, 404].includes(theirs.status) && entry.name !== "getTrace"
      if (leaks.length > 0 || !isSame || isFound)
        wrong.push({ operation: entry.name, place: place.name, kind, leaks, one, other })
    }
    return { tried, wrong }
  })
