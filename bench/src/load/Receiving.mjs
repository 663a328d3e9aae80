/** Posthorn's database with a receiver of the scenario's own, to which each workspace has so many endpoints. */
import { endpointsAt, key, posthorn } from "../Contestants.mjs"
import { withContext } from "../Run.mjs"
import { startChild } from "./Child.mjs"

/** `fill` adds what the scenario needs, with endpoints of other ids for each workspace. Both are gone at the end, whatever happens. */
export const withReceiver = async (bench, { fill, kinds, tag }, body) => {
  const receiver = await startChild("Receiver", { key })
  const origin = `http://127.0.0.1:${receiver.opened.port}`
  const endpointsOf = () => endpointsAt(Array.from({ length: kinds }, (_, n) => `${origin}/hooks/${n}`))
  try {
    return await withContext(
      bench,
      posthorn,
      { endpoints: endpointsOf(), tag, fill: (url) => fill(url, endpointsOf) },
      (context) => body(context, receiver)
    )
  } finally {
    receiver.stop()
  }
}
