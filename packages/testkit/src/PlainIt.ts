/**
 * Loaded before each test file: gives `it` its own methods back. `layer` of `@effect/vitest` writes its `it.effect` and
 * `it.scoped` on the one `it` of the process, where the next file would find them.
 */
import { effect, it, live, scoped, scopedLive } from "@effect/vitest"

Object.assign(it, { effect, live, scoped, scopedLive })
