/**
 * Keeps V8 from making a server's objects where long-lived ones belong.
 *
 * V8 counts, for each object and list that the code writes out (`{…}`, `[…]`), how many of those it makes outlive a collection.
 * Where most do, it makes the next ones among the old objects at once. A process starts with so little room for young ones that
 * the first requests outlive several collections, so V8 is soon sure of it. From then on each such object is dead with its
 * request, lies where only a full collection looks, and keeps all alive that it leads to: the whole request. Whether a process
 * comes into that state is chance; none gets out of it by itself. What it costs a publish: docs/benchmarks.md, Publishing.
 *
 * To be called before there are requests. Only for what serves: nothing here says what it would do to a worker. Node 20 needs
 * it; V8 of Node 22 was not seen to do the same.
 */
import { setFlagsFromString } from "node:v8"

export const keepShortLivedYoung = (): void => setFlagsFromString("--no-allocation-site-pretenuring")
