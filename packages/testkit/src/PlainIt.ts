/**
 * Loaded before each test file: restores the methods of `it`. `layer` of `@effect/vitest` overwrites `it.effect` and
 * `it.scoped` on the process's one `it`, and the next file would get these.
 */
import { effect, it, live, scoped, scopedLive } from "@effect/vitest"

Object.assign(it, { effect, live, scoped, scopedLive })
