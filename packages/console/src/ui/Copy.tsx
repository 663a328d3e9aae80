/** Copies text and confirms it, also for screen readers. */
import { useEffect, useState } from "react"
import { Button } from "./Button.tsx"
import { Icon } from "./Icon.tsx"

const SAID_MS = 1600

const useCopy = () => {
  const [said, setSaid] = useState<"copied" | "failed" | null>(null)
  useEffect(() => {
    if (said === null) return
    const timer = setTimeout(() => setSaid(null), SAID_MS)
    return () => clearTimeout(timer)
  }, [said])
  const copy = (text: string) =>
    navigator.clipboard.writeText(text).then(
      () => setSaid("copied"),
      () => setSaid("failed")
    )
  return { copy, said }
}

export const Said = ({ said }: { said: "copied" | "failed" | null }) => (
  <span role="status" className="sr-only">
    {said === "copied" ? "Copied" : said === "failed" ? "The browser did not allow copying" : ""}
  </span>
)

export const CopyButton = ({
  text,
  label = "Copy",
  small = true
}: {
  text: string
  label?: string
  small?: boolean
}) => {
  const { copy, said } = useCopy()
  return (
    <>
      <Button small={small} icon={said === "copied" ? "check" : "copy"} onPress={() => copy(text)}>
        {label}
      </Button>
      <Said said={said} />
    </>
  )
}

/** An id that can be copied whole, shown in monospace. */
export const Id = ({ id }: { id: string }) => {
  const { copy, said } = useCopy()
  return (
    <button
      type="button"
      onClick={() => copy(id)}
      title={`Copy ${id}`}
      className="group inline-flex min-h-6 max-w-full items-center gap-1.5 rounded font-mono text-xs text-soft hover:text-ink"
    >
      <span className="truncate">{id}</span>
      <Icon
        name={said === "copied" ? "check" : "copy"}
        size={12}
        className="text-faint group-hover:text-ink"
      />
      <Said said={said} />
    </button>
  )
}
