/** The kinds of authentication, each as the fields that its form has. Source: spec §2.9. */
import type { RequestProfile } from "@posthorn/domain/RequestProfile"
import type { Choice } from "../../../ui/Field.tsx"

type Kind = NonNullable<RequestProfile["authentication"]>["kind"]

interface Field {
  readonly name: string
  readonly label: string
  readonly about?: string
  readonly placeholder?: string
  readonly isOptional?: boolean
  /** With more than one it is a text area. */
  readonly lines?: number
  readonly choices?: ReadonlyArray<Choice>
}

interface Authentication {
  readonly label: string
  readonly about: string
  /** What is shown again. */
  readonly fields: ReadonlyArray<Field>
  /** What is stored, and never shown. */
  readonly secret: Pick<Field, "name" | "label" | "lines">
}

export const authentications: Record<Kind, Authentication> = {
  basic: {
    label: "Name and password",
    about: "HTTP Basic, in the header authorization.",
    fields: [{ name: "username", label: "User name" }],
    secret: { name: "password", label: "Password" }
  },
  bearer: {
    label: "Bearer token",
    about: "One that does not change, in the header authorization.",
    fields: [],
    secret: { name: "token", label: "Token" }
  }
}
