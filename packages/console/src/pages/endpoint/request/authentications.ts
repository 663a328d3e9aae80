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
  /** Whether Posthorn can try it without asking the endpoint. */
  readonly isTried?: boolean
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
  },
  oauth2: {
    label: "OAuth token",
    about: "Fetched from a token endpoint with client credentials, and again before it expires.",
    fields: [
      { name: "tokenUrl", label: "Token URL", placeholder: "https://auth.example.com/token" },
      { name: "clientId", label: "Client ID" },
      { name: "scope", label: "Scope", isOptional: true, about: "Separated by spaces." },
      { name: "audience", label: "Audience", isOptional: true },
      {
        name: "sendCredentialsIn",
        label: "Credentials are sent in",
        isOptional: true,
        choices: [
          { id: "header", label: "The header", about: "HTTP Basic, as most token endpoints want it." },
          { id: "body", label: "The body", about: "As client_id and client_secret." }
        ]
      }
    ],
    secret: { name: "clientSecret", label: "Client secret" },
    isTried: true
  },
  mtls: {
    label: "Client certificate",
    about: "Shown in the TLS handshake.",
    fields: [
      {
        name: "certificate",
        label: "Certificate",
        about: "PEM; those that lead to its authority may follow.",
        placeholder: "-----BEGIN CERTIFICATE-----",
        lines: 6
      }
    ],
    secret: { name: "privateKey", label: "Private key", lines: 6 },
    isTried: true
  }
}
