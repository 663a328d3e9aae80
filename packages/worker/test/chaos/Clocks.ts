/**
 * Wall clocks that are wrong: a process shows other times than the machine does, as if its own machine's clock had been set.
 * Time passes for it as for everybody: timers and the clock that only goes forward stay as they are.
 */
import { writeFileSync } from "node:fs"
import { join } from "node:path"

/** Runs before the program, in its process. What it hears comes over the channel that `spawn` opens. */
const PRELOAD = `
const Real = Date, now = Date.now
let off = Number(process.env.CLOCK_OFF_MS ?? 0)
Real.now = () => now() + off
globalThis.Date = new Proxy(Real, {
  construct: (target, args, made) => Reflect.construct(target, args.length === 0 ? [now() + off] : args, made),
  apply: () => new globalThis.Date().toString()
})
process.on("message", ({ offMs }) => { off = offMs })
process.channel?.unref()
`

/** Writes it into the folder, and gives its path. */
export const preloadIn = (folder: string): string => {
  const file = join(folder, "clock.cjs")
  writeFileSync(file, PRELOAD)
  return file
}

interface Setting {
  readonly from: number
  readonly offMs: number
}

/** How the clocks of all processes were set, by their names; each starts with the right time. */
export class Clocks {
  private readonly settings = new Map<string, Array<Setting>>()

  set(name: string, offMs: number): void {
    this.settings.set(name, [...(this.settings.get(name) ?? []), { from: Date.now(), offMs }])
  }

  /** Whether this one was off at some moment between these. */
  wasOff(name: string, from: number, to: number): boolean {
    const settings = this.settings.get(name) ?? []
    return settings.some(
      (one, n) =>
        one.offMs !== 0 && one.from <= to && (settings[n + 1]?.from ?? Number.POSITIVE_INFINITY) >= from
    )
  }
}
