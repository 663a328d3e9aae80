/**
 * Lets a server's garbage collector see that what belonged to an answered request is dead.
 *
 * What lies among the old objects is looked through by full collections only. Until the next one each dead object there keeps
 * all alive that it leads to, and small collections have to copy that twice. Two things of a request came to lie there:
 *
 * - Objects and lists that the code writes out (`{…}`, `[…]`). V8 counts how many of each place outlive a collection, and where
 *   most do, it makes the next ones among the old objects at once. A process starts with so little room for young objects that
 *   its first requests outlive several collections; from then on every request is kept whole. Which processes come into that
 *   state is chance, and none gets out of it. Node 20 does this; of Node 22 it was not seen.
 * - Fibers, through Effect's set of all that run. V8 builds a set anew after each few dozen changes, and each old table still
 *   holds what was in it, and the table that came after it. Nobody asks which fibers there are.
 *
 * For `serve` only: what it would do to a worker is not measured. What it saves: docs/benchmarks.md, Publishing.
 */
import { setFlagsFromString } from "node:v8"
import { GlobalValue } from "effect"

/** Effect's, under its own name. Without it a fiber is held by what it waits for, which is all that can wake it up. */
const fibers = () =>
  GlobalValue.globalValue<{ add: () => void }>(Symbol.for("effect/FiberScope/Global"), () => {
    throw new Error("Effect keeps its fibers elsewhere now")
  })

/** To be called before there are requests. */
export const keepShortLivedYoung = (): void => {
  setFlagsFromString("--no-allocation-site-pretenuring")
  fibers().add = () => undefined
}
