/** Switches the automatic refresh of a list. */
import { useState } from "react"

export const useLive = () => {
  const [on, setOn] = useState(true)
  const toggle = (
    <button
      type="button"
      aria-pressed={on}
      data-key="l"
      onClick={() => setOn(!on)}
      className="inline-flex h-8 items-center gap-2 rounded-md border border-line-strong bg-surface px-3 text-sm font-medium hover:bg-hover"
    >
      <span
        aria-hidden="true"
        className={`size-2 rounded-full ${on ? "bg-good-bar motion-safe:animate-pulse" : "bg-line-strong"}`}
      />
      Live
    </button>
  )
  return { on, toggle }
}
