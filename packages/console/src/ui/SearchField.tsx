/** A field that filters a list: it applies its text on Enter and when it is left, unless the text cannot be searched for. */
import { useEffect, useId, useState } from "react"
import { inputClass } from "./Field.tsx"

export const SearchField = ({
  label,
  placeholder,
  value,
  apply,
  problemOf = () => undefined
}: {
  label: string
  placeholder: string
  value: string
  apply: (value: string) => void
  /** What is wrong with a text that is not empty. */
  problemOf?: (text: string) => string | undefined
}) => {
  const [text, setText] = useState(value)
  const problemId = useId()
  useEffect(() => setText(value), [value])
  const problem = text === "" ? undefined : problemOf(text)
  const commit = () => (problem !== undefined || text === value ? undefined : apply(text))
  return (
    <form
      data-search
      className="min-w-0 flex-1 basis-44"
      onSubmit={(event) => {
        event.preventDefault()
        commit()
      }}
    >
      <input
        type="search"
        aria-label={label}
        aria-invalid={problem !== undefined}
        aria-describedby={problem === undefined ? undefined : problemId}
        placeholder={placeholder}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onBlur={commit}
        className={`${inputClass} h-8 border-line-strong`}
      />
      {problem === undefined ? null : (
        <p id={problemId} role="status" className="pt-1 text-xs text-bad">
          {problem}
        </p>
      )}
    </form>
  )
}
