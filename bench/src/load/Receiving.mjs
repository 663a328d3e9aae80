/** Posthorn's database with a receiver of the scenario's own, to which each workspace has so many endpoints. */
import { addWorkspace, endpointsAt, key, posthorn } from "../Contestants.mjs"
import { withContext } from "../Run.mjs"
import { connect } from "../Servers.mjs"
import { startChild } from "./Child.mjs"

/**
 * `others` are the slugs of further workspaces, each with endpoints of its own; `fill` then writes what the scenario needs.
 * Database and receiver are gone at the end, whatever happens.
 */
export const withReceiver = async (bench, { fill = async () => {}, kinds, others, tag }, body) => {
  const receiver = await startChild("Receiver", { key })
  const origin = `http://127.0.0.1:${receiver.opened.port}`
  const endpointsOf = () => endpointsAt(Array.from({ length: kinds }, (_, n) => `${origin}/hooks/${n}`))
  const fillAll = async (url) => {
    const client = await connect(url)
    for (const slug of others) await addWorkspace(client, slug, endpointsOf())
    await client.end()
    await fill(url)
  }
  try {
    return await withContext(bench, posthorn, { endpoints: endpointsOf(), tag, fill: fillAll }, (context) =>
      body(context, receiver)
    )
  } finally {
    receiver.stop()
  }
}
