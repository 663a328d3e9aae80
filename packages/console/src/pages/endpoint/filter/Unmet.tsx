/** The first condition of a filter that a payload does not meet. */
export const Unmet = ({ condition, path }: { path: string; condition: unknown }) => (
  <>
    <code className="text-xs break-all">{path === "" ? "The payload" : path}</code> does not meet{" "}
    <code className="text-xs break-all">{JSON.stringify(condition)}</code>
  </>
)
