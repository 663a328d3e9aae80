/** Text that somebody wrote: its lines stay, and what stands between backticks is code. */
export const Prose = ({ text }: { text: string }) => (
  <span className="break-words whitespace-pre-line">
    {text.split(/`([^`\n]+)`/).map((part, index) =>
      index % 2 === 0 ? (
        part
      ) : (
        <code key={index} className="text-[0.92em] text-ink">
          {part}
        </code>
      )
    )}
  </span>
)
