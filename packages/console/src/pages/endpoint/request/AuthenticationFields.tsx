/** How an endpoint's requests prove to the receiver's own gateway who sends them. */
import type { ReactNode } from "react"
import { Select, TextField } from "../../../ui/Field.tsx"
import { authentications } from "./authentications.ts"
import {
  type AuthenticationDraft,
  type AuthenticationKind,
  keepsAuthentication,
  type SecretDraft
} from "./draft.ts"
import type { At } from "./issues.ts"
import { SecretField } from "./SecretField.tsx"

const KindFields = ({
  at,
  authentication,
  kind,
  set,
  setSecret
}: {
  kind: AuthenticationKind
  authentication: AuthenticationDraft
  at: At
  set: (name: string, value: string) => void
  setSecret: (secret: SecretDraft) => void
}) => {
  const { fields, secret } = authentications[kind]
  return (
    <>
      {fields.map(({ about, choices, isOptional = false, label, lines, name, placeholder = "" }) => {
        const value = authentication.fields[name] ?? ""
        const change = (next: string) => set(name, next)
        return choices === undefined ? (
          <TextField
            key={name}
            label={isOptional ? `${label} (optional)` : label}
            value={value}
            onChange={change}
            mono
            placeholder={placeholder}
            error={at(`authentication/${name}`)}
            about={about}
            {...(lines === undefined ? {} : { lines })}
          />
        ) : (
          <Select
            key={name}
            label={label}
            value={value === "" ? choices[0]!.id : value}
            onChange={change}
            choices={choices}
          />
        )
      })}
      <SecretField
        label={secret.label}
        name={secret.label.toLowerCase()}
        secret={authentication.secret}
        isKept={keepsAuthentication(authentication)}
        change={setSecret}
        error={at(`authentication/${secret.name}`)}
        lines={secret.lines}
      />
    </>
  )
}

export const AuthenticationFields = ({
  at,
  authentication,
  change,
  check
}: {
  authentication: AuthenticationDraft
  at: At
  change: (authentication: AuthenticationDraft) => void
  /** Tries it, where that can be tried. */
  check: ReactNode
}) => {
  const { kind } = authentication
  return (
    <fieldset className="grid gap-3">
      <legend className="mb-2 text-sm font-semibold">Authentication</legend>
      <Select
        label="Kind"
        value={kind}
        onChange={(next) => change({ ...authentication, kind: next as AuthenticationDraft["kind"] })}
        choices={[
          { id: "none", label: "None", about: "The signature alone says who sends it." },
          ...Object.entries(authentications).map(([id, { about, label }]) => ({ id, label, about }))
        ]}
      />
      {kind === "none" ? null : (
        <KindFields
          kind={kind}
          authentication={authentication}
          at={at}
          set={(name, value) =>
            change({ ...authentication, fields: { ...authentication.fields, [name]: value } })
          }
          setSecret={(secret) => change({ ...authentication, secret })}
        />
      )}
      {kind !== "none" && authentications[kind].isTried ? check : null}
    </fieldset>
  )
}
