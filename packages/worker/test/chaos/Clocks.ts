/**
 * Wrong wall clocks: a process shows another time than the machine, as if its machine's clock had been set. Timers and the
 * monotonic clock stay as they are.
 */
import { writeFileSync } from "node:fs"
import { join } from "node:path"

/** Runs in the process before the program. It is controlled through the channel that `spawn` opens. */
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

/** Writes it into the folder; gives its path. */
export const preloadIn = (folder: string): string => {
  const file = join(folder, "clock.cjs")
  writeFileSync(file, PRELOAD)
  return file
}

interface Setting {
  readonly from: number
  readonly offMs: number
}

/** How the clocks of all processes were set, by process name; each starts with the right time. */
export class Clocks {
  private readonly settings = new Map<string, Array<Setting>>()

  set(name: string, offMs: number): void {
    this.settings.set(name, [...(this.settings.get(name) ?? []), { from: Date.now(), offMs }])
  }

  /** Whether this clock was off at some moment in the interval. */
  wasOff(name: string, from: number, to: number): boolean {
    const settings = this.settings.get(name) ?? []
    return settings.some(
      (one, n) =>
        one.offMs !== 0 && one.from <= to && (settings[n + 1]?.from ?? Number.POSITIVE_INFINITY) >= from
    )
  }
}
