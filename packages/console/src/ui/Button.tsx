/** Buttons, and links that look like one. Pages do not render buttons for forbidden actions. */
import type { ReactNode } from "react"
import { Button as AriaButton, type ButtonProps as AriaButtonProps } from "react-aria-components"
import { Icon, type IconName } from "./Icon.tsx"

export type Look = "plain" | "primary" | "danger" | "quiet"

const looks: Record<Look, string> = {
  primary: "bg-accent text-accent-ink border-transparent hover:brightness-110 data-[pressed]:brightness-95",
  plain: "bg-surface text-ink border-line-strong hover:bg-hover data-[pressed]:bg-sunken",
  danger: "bg-surface text-bad border-line-strong hover:tint-bad",
  quiet: "bg-transparent text-soft border-transparent hover:bg-hover hover:text-ink"
}

export const buttonClass = (look: Look = "plain", small = false) =>
  `inline-flex items-center justify-center gap-1.5 rounded-md border font-medium whitespace-nowrap select-none transition-colors ` +
  `disabled:opacity-50 data-[disabled]:opacity-50 ${small ? "h-7 px-2 text-xs" : "h-8 px-3 text-sm"} ${looks[look]}`

interface ButtonProps extends Omit<AriaButtonProps, "children" | "className"> {
  readonly look?: Look
  readonly small?: boolean
  readonly icon?: IconName
  readonly children: ReactNode
  readonly className?: string
}

export const Button = ({
  look = "plain",
  small = false,
  icon,
  children,
  className = "",
  ...props
}: ButtonProps) => (
  <AriaButton {...props} className={`${buttonClass(look, small)} ${className}`}>
    {icon === undefined ? null : <Icon name={icon} size={small ? 13 : 15} />}
    {children}
  </AriaButton>
)

/** A button with only an icon; `label` is its accessible name. */
export const IconButton = ({
  icon,
  label,
  className = "",
  ...props
}: Omit<AriaButtonProps, "children" | "className"> & {
  icon: IconName
  label: string
  className?: string
}) => (
  <AriaButton
    {...props}
    aria-label={label}
    className={`inline-grid size-8 place-items-center rounded-md text-soft hover:bg-hover hover:text-ink ${className}`}
  >
    <Icon name={icon} />
  </AriaButton>
)
