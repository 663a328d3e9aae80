/** The simulation's model, on a clock that only `pass` moves. */
import type { Queue } from "@posthorn/persistence/engine/Queue"
import { type Context, Effect } from "effect"
import { Model } from "../simulation/Model.ts"
import type { Database, EndpointRef } from "./Database.ts"

export const modelDatabase = (): Database => {
  let now = 1_800_000_000_000
  let made = 0
  const model = new Model(
    () => now,
    () => 1_000
  )
  const owners = new Map<string, object>()
  const ownerOf = (name: string) => {
    const owner = owners.get(name) ?? {}
    owners.set(name, owner)
    return owner
  }
  const at = <A>(act: () => A) => Effect.sync(act)
  const found = ({ endpointId }: EndpointRef) => model.endpoints.get(endpointId)!
  const queue: Context.Tag.Service<Queue> = {
    due: (...args) => at(() => model.due(...args)),
    firstOfEndpoints: (...args) => at(() => model.firstOfEndpoints(...args)),
    nextDue: (shards) => at(() => model.nextDue(shards)),
    dueOfEndpoints: (refills) => at(() => model.dueOfEndpoints(refills)),
    load: (rows) => at(() => model.load(rows)),
    payload: () => Effect.dieMessage("payload"),
    startsSince: (limited) => at(() => model.startsSince(limited)),
    countClaims: (...args) => at(() => model.countClaims(...args))
  }
  return {
    queue,
    records: {
      record: (group) => at(() => model.record(group)),
      policies: (endpoints) => at(() => model.policies(endpoints)),
      deadLetter: (batch) => at(() => model.deadLetter(batch))
    },
    endpoint: (shard) =>
      at(() => {
        const id = `whe_${String(++made).padStart(4, "0")}`
        const workspaceId = "ws_1"
        model.endpoints.set(id, {
          ...{ id, shard, workspaceId, url: "https://example.com/", enabled: true, generation: 0, streak: 0 },
          ...{
            failingSince: 0,
            policy: { own: null, workspace: null, version: "0" },
            secret: new Uint8Array()
          },
          ...{ previous: null, deleted: false }
        })
        return { endpointId: id, workspaceId, shard }
      }),
    publish: ({ endpointId }) =>
      at(() => {
        const id = `whd_${String(++made).padStart(4, "0")}`
        // PostgreSQL's clock goes on between two publishes.
        now += 1
        return model.publish(endpointId, id, now) ? id : "none"
      }),
    pass: (ms) => at(() => (now += ms)),
    enable: (endpoint) => at(() => model.enable(found(endpoint))),
    disable: (endpoint) => at(() => model.disable(found(endpoint))),
    repolicy: (endpoint, own) => at(() => model.repolicy(found(endpoint), own)),
    remove: (endpoint) => at(() => model.delete(found(endpoint))),
    take: (shard, owner) => at(() => model.shards.take(shard, ownerOf(owner))),
    showLife: (owner) => at(() => void model.shards.living.add(ownerOf(owner))),
    release: (shard, owner) => at(() => model.shards.release(shard, ownerOf(owner))),
    clearDoubt: (shard, owner) => at(() => model.clearDoubt(shard, ownerOf(owner))),
    statuses: (ids) =>
      at(() =>
        ids.map((id) => {
          const delivery = model.deliveries.get(id)
          return delivery === undefined ? "gone" : `${delivery.status} ${delivery.attempts}`
        })
      )
  }
}
