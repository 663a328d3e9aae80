/** Form fields, each with label, description and error. */
import type { ReactNode } from "react"
import {
  Checkbox as AriaCheckbox,
  Select as AriaSelect,
  TextField as AriaTextField,
  Button,
  FieldError,
  Input,
  Label,
  ListBox,
  ListBoxItem,
  Popover,
  Radio,
  RadioGroup,
  SelectValue,
  Text,
  TextArea
} from "react-aria-components"
import { Icon } from "./Icon.tsx"

export const inputClass =
  "w-full rounded-md border border-control-line bg-surface px-2.5 text-sm text-ink data-[invalid]:border-bad aria-invalid:border-bad disabled:opacity-60"

export const TextField = ({
  label,
  value,
  onChange,
  about,
  error,
  placeholder,
  lines,
  mono = false,
  autoFocus = false,
  type = "text",
  name,
  isRequired = false
}: {
  label: string
  value: string
  onChange: (value: string) => void
  about?: ReactNode
  error?: string | undefined
  placeholder?: string
  /** With more than one it is a text area. */
  lines?: number
  mono?: boolean
  autoFocus?: boolean
  type?: "text" | "email" | "password" | "datetime-local"
  name?: string
  isRequired?: boolean
}) => (
  <AriaTextField
    value={value}
    onChange={onChange}
    isInvalid={error !== undefined}
    validationBehavior="aria"
    type={type}
    autoFocus={autoFocus}
    isRequired={isRequired}
    className="grid min-w-0 gap-1.5"
    {...(name === undefined ? {} : { name })}
  >
    <Label className="text-sm font-medium">{label}</Label>
    {lines === undefined ? (
      <Input
        placeholder={placeholder ?? ""}
        autoComplete="off"
        spellCheck={false}
        className={`${inputClass} h-9 ${mono ? "font-mono text-xs" : ""}`}
      />
    ) : (
      <TextArea
        placeholder={placeholder ?? ""}
        rows={lines}
        spellCheck={false}
        className={`${inputClass} py-2 ${mono ? "font-mono text-xs leading-5" : ""}`}
      />
    )}
    {about === undefined ? null : (
      <Text slot="description" className="text-xs text-faint">
        {about}
      </Text>
    )}
    <FieldError className="text-xs text-bad">{error}</FieldError>
  </AriaTextField>
)

export interface Choice {
  readonly id: string
  readonly label: string
  readonly about?: string
}

/** One of a few choices that are seen at once. */
export const Radios = ({
  label,
  choices,
  value,
  onChange
}: {
  label: string
  choices: ReadonlyArray<Choice>
  value: string
  onChange: (value: string) => void
}) => (
  <RadioGroup value={value} onChange={onChange} className="grid gap-2">
    <Label className="text-sm font-medium">{label}</Label>
    {choices.map(({ about, id, label: text }) => (
      <Radio key={id} value={id} className="group flex w-fit cursor-pointer items-start gap-2 text-sm">
        <span className="mt-0.5 grid size-4 shrink-0 place-items-center rounded-full border border-control-line bg-surface outline-offset-2 group-data-[focus-visible]:outline-2 group-data-[focus-visible]:outline-accent group-data-[selected]:border-accent">
          <span className="size-2 rounded-full group-data-[selected]:bg-accent" />
        </span>
        <span>
          {text}
          {about === undefined ? null : <span className="block text-xs text-faint">{about}</span>}
        </span>
      </Radio>
    ))}
  </RadioGroup>
)

export const Select = ({
  label,
  choices,
  value,
  onChange,
  hideLabel = false,
  small = false
}: {
  label: string
  choices: ReadonlyArray<Choice>
  value: string
  onChange: (value: string) => void
  /** Shown within the button instead of above it. */
  hideLabel?: boolean
  small?: boolean
}) => (
  <AriaSelect
    selectedKey={value}
    onSelectionChange={(key) => onChange(String(key ?? ""))}
    className={
      hideLabel
        ? "flex min-w-0 items-center rounded-md border border-line-strong bg-surface ps-2.5 hover:bg-hover"
        : "grid w-full min-w-0 gap-1.5"
    }
  >
    <Label className={hideLabel ? "text-sm whitespace-nowrap text-faint" : "text-sm font-medium"}>
      {label}
    </Label>
    <Button
      className={`flex min-w-0 items-center justify-between gap-2 rounded-md text-sm ${small ? "h-7.5" : "h-9"} ${hideLabel ? "px-2" : "border border-control-line bg-surface px-2.5 hover:bg-hover"}`}
    >
      <SelectValue className="truncate">
        {({ defaultChildren }) => choices.find(({ id }) => id === value)?.label ?? defaultChildren}
      </SelectValue>
      <Icon name="down" size={14} className="text-faint" />
    </Button>
    <Popover className="min-w-(--trigger-width) rounded-lg bg-raised p-1 shadow-(--shadow-pop)">
      <ListBox items={choices} className="max-h-80 overflow-auto outline-none">
        {(choice: Choice) => (
          <ListBoxItem
            id={choice.id}
            textValue={choice.label}
            className="flex cursor-default items-start justify-between gap-4 rounded-md px-2.5 py-1.5 text-sm data-[focused]:bg-hover data-[focus-visible]:outline-offset-[-2px]"
          >
            {({ isSelected }) => (
              <>
                <span>
                  <Text slot="label">{choice.label}</Text>
                  {choice.about === undefined ? null : (
                    <Text slot="description" className="block max-w-72 text-xs text-faint">
                      {choice.about}
                    </Text>
                  )}
                </span>
                {isSelected ? <Icon name="check" size={14} className="mt-0.5 text-accent-text" /> : null}
              </>
            )}
          </ListBoxItem>
        )}
      </ListBox>
    </Popover>
  </AriaSelect>
)

export const Checkbox = ({
  label,
  about,
  isSelected,
  onChange,
  isDisabled = false
}: {
  label: ReactNode
  about?: ReactNode
  isSelected: boolean
  onChange: (value: boolean) => void
  isDisabled?: boolean
}) => (
  <AriaCheckbox
    isSelected={isSelected}
    onChange={onChange}
    isDisabled={isDisabled}
    className="group flex min-h-6 cursor-pointer items-start gap-2.5 text-sm data-[disabled]:cursor-default"
  >
    <span className="mt-0.5 grid size-4 shrink-0 place-items-center rounded border border-control-line bg-surface text-accent-ink group-data-[focus-visible]:outline-2 group-data-[focus-visible]:outline-offset-2 group-data-[focus-visible]:outline-accent-text group-data-[selected]:border-transparent group-data-[selected]:bg-accent">
      {isSelected ? <Icon name="check" size={12} /> : null}
    </span>
    <span className="min-w-0">
      <span className="group-data-[disabled]:text-faint">{label}</span>
      {about === undefined ? null : <span className="block text-xs text-faint">{about}</span>}
    </span>
  </AriaCheckbox>
)
