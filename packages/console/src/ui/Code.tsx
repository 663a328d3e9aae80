/** Shows text as text: commands to paste, payloads, headers, receivers' answers. */
import { CopyButton } from "./Copy.tsx"

export const Code = ({
  text,
  label,
  wrap = false,
  tall = false,
  whole = false,
  copies = true
}: {
  text: string
  label: string
  wrap?: boolean
  tall?: boolean
  /** Never scrolled downwards. */
  whole?: boolean
  /** Whether it can be copied with a button. */
  copies?: boolean
}) => (
  <div className="flex min-w-0 flex-col-reverse rounded-md border bg-sunken text-start sm:flex-row sm:items-start">
    <pre
      // A region that scrolls must be reachable with the keyboard.
      tabIndex={0}
      role="region"
      aria-label={label}
      dir="auto"
      className={`min-w-0 flex-1 overflow-auto p-3 pt-1 text-xs leading-5 whitespace-pre-wrap sm:pt-3 ${whole ? "" : tall ? "max-h-[32rem]" : "max-h-72"} ${wrap ? "break-all" : "[overflow-wrap:anywhere]"}`}
    >
      {text}
    </pre>
    {copies ? (
      <div className="shrink-0 self-end pe-2 pt-2 sm:self-start sm:pb-2">
        <CopyButton text={text} />
      </div>
    ) : null}
  </div>
)
