/**
 * The guides of `docs/` as one text, for `/llms-full.txt`: what a program needs to publish, receive and connect, without
 * following a link. Read once at start.
 */
import { readFileSync } from "node:fs"
import { llmsText } from "./Llms.ts"

const folder = new URL("../../../../docs/", import.meta.url)

/** In the order in which they are needed. */
export const guides = [
  "first-endpoint",
  "publish",
  "receive",
  "state-machine",
  "mcp",
  "compatibility"
] as const

const guide = (name: (typeof guides)[number]) => readFileSync(new URL(`${name}.md`, folder), "utf8").trim()

/** The text of this installation. */
export const fullText = (baseUrl: string) =>
  `${[llmsText(baseUrl), ...guides.map(guide)].join("\n\n---\n\n")}\n`
