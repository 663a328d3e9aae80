/** A payload in lines for reading, or to the letter as it was published. */
import { useState } from "react"
import { Button } from "./Button.tsx"
import { Code } from "./Code.tsx"
import { inLines } from "./json.ts"
import { Card } from "./Layout.tsx"

export const Payload = ({ text }: { text: string }) => {
  const [isLaidOut, setLaidOut] = useState(true)
  return (
    <Card
      title="Payload"
      about={
        isLaidOut
          ? "In lines for reading; it is sent as it was published, within the body of a request."
          : "As it was published, to the letter."
      }
      actions={
        <Button small onPress={() => setLaidOut(!isLaidOut)}>
          {isLaidOut ? "As published" : "In lines"}
        </Button>
      }
    >
      <Code text={isLaidOut ? inLines(text) : text} label="Payload" tall wrap={!isLaidOut} />
    </Card>
  )
}
