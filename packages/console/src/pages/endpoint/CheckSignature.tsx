/** Asks Posthorn what is wrong with the signature of a request that a receiver refused. */
import { useState } from "react"
import { useAct } from "../../api/queries.ts"
import { Button } from "../../ui/Button.tsx"
import { TextField } from "../../ui/Field.tsx"
import { Card } from "../../ui/Layout.tsx"
import { Refusal } from "../../ui/States.tsx"

/** Lines of `name: value`. */
const headersOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    text
      .split("\n")
      .map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1)] as const)
      .filter(([name]) => name.trim() !== "")
      .map(([name, value]) => [name.trim().toLowerCase(), value.trim()])
  )

export const CheckSignature = ({ endpointId }: { endpointId: string }) => {
  const [headers, setHeaders] = useState("")
  const [body, setBody] = useState("")
  const explain = useAct("explainSignature")
  return (
    <Card
      title="Check a signature"
      about="Does your receiver refuse a request? Give the headers and the raw body that it got. Nothing is stored."
    >
      <form
        className="grid max-w-2xl gap-4"
        onSubmit={(event) => {
          event.preventDefault()
          explain.mutate({ path: { endpointId }, body: { headers: headersOf(headers), body } })
        }}
      >
        <TextField
          label="Headers"
          value={headers}
          onChange={setHeaders}
          lines={4}
          mono
          placeholder={"webhook-id: whd_…\nwebhook-timestamp: 1764158400\nwebhook-signature: v1,…"}
        />
        <TextField label="Raw body" value={body} onChange={setBody} lines={4} mono />
        <Refusal error={explain.error} />
        {explain.data === undefined ? null : (
          <p role="status" className="rounded-lg border px-4 py-3.5 text-sm">
            {explain.data.explanation}
          </p>
        )}
        <div>
          <Button type="submit" isDisabled={explain.isPending || headers.trim() === ""}>
            Check
          </Button>
        </div>
      </form>
    </Card>
  )
}
