/**
 * The guides of `docs/` as one text, for `/llms-full.txt`: everything a program needs to publish, receive and connect, without
 * following links. Read once at start.
 */
import { readFileSync } from "node:fs"
import { llmsText } from "./Llms.ts"

const folder = new URL("../../../../docs/", import.meta.url)

/** In the order in which readers need them. */
export const guides = [
  "first-endpoint",
  "publish",
  "receive",
  "catalogue",
  "retries",
  "moving-in",
  "embed",
  "state-machine",
  "mcp",
  "compatibility"
] as const

const guide = (name: (typeof guides)[number]) => readFileSync(new URL(`${name}.md`, folder), "utf8").trim()

export const fullText = (baseUrl: string) =>
  `${[llmsText(baseUrl), ...guides.map(guide)].join("\n\n---\n\n")}\n`
