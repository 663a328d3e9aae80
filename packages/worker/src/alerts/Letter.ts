/**
 * What an alert says: subject, lines, and a link into the console; as plain text, as HTML, and for Slack.
 *
 * Names and URLs are their owners' text: control and invisible characters become spaces, a zero-width space breaks what programs would
 * make a link or a mention of, and each format escapes its own. A subject has no such space. Nothing is loaded. Pure. Source: spec §3.6.
 */
import type { AlertCause } from "@posthorn/domain/Alerts"
import { luminance } from "@posthorn/domain/Luminance"
import type { AlertSettings } from "./AlertConfig.ts"

export interface LetterFacts {
  readonly cause: AlertCause
  readonly happenedAt: string
  readonly workspace: { readonly slug: string; readonly name: string }
  /** Null: it was deleted, or they are several. */
  readonly endpoint: LetterEndpoint | null
  /** How often it happened in an hour without being told; null: it is told at once. */
  readonly digest: {
    readonly times: number
    readonly endpoints: number
    readonly most: ReadonlyArray<{ readonly endpoint: LetterEndpoint | null; readonly times: number }>
  } | null
  /** Whether its failures disable the endpoint; false: not, or the endpoint is not known. */
  readonly disables: boolean
  /** Whether the recipient is told that it was disabled. */
  readonly tellsDisabled: boolean
  /** The first finding of a diagnosis. */
  readonly finding: {
    readonly summary: string
    readonly since: string | null
    readonly inARow: number
  } | null
  readonly undelivered: { readonly waiting: number; readonly stopped: string; readonly missed: string } | null
}

interface LetterEndpoint {
  readonly id: string
  readonly url: string
  readonly description: string | null
}

interface Line {
  readonly label: string
  readonly text: string
}

export interface Letter {
  readonly subject: string
  readonly opening: string
  readonly lines: ReadonlyArray<Line>
  readonly closing: string
  readonly link: { readonly text: string; readonly url: string }
  readonly footer: string
}

const URL_SHOWN = 160
const NAME_SHOWN = 120

/** One line of characters that show, at most so many. */
const plain = (text: string, most: number): string => {
  const line = text
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]+/gu, " ")
    .replace(/\s+/g, " ")
    .trim()
  return line.length > most ? `${line.slice(0, most - 1).replace(/\p{Cs}/u, "")}…` : line
}

const BREAK = "\u200b"

const unlinked = (text: string) => text.replace(/([./:@])(?=\S)/g, `$1${BREAK}`)

/** Their owners' text. */
const owned = (text: string, most: number) => unlinked(plain(text, most))

/** As the console names it: host and path. */
const nameOf = ({ url }: LetterEndpoint) =>
  owned(url.replace(/^https?:\/\//, "").replace(/\/$/, ""), URL_SHOWN)

const called = (endpoint: LetterEndpoint | null) => {
  if (endpoint === null) return "an endpoint that has been deleted since"
  const description = owned(endpoint.description ?? "", NAME_SHOWN)
  return description === "" ? nameOf(endpoint) : `${nameOf(endpoint)} (${description})`
}

const counted = (count: number, one: string, many = `${one}s`) => `${count} ${count === 1 ? one : many}`

/** 2026-11-27 03:12 UTC */
const moment = (at: string) => `${at.slice(0, 10)} ${at.slice(11, 16)} UTC`

const HAPPENED: Readonly<
  Record<AlertCause, { readonly once: string; readonly when: string; readonly again: string }>
> = {
  "endpoint.failing": { once: "is failing", when: ". It was noticed at", again: "failed again" },
  "endpoint.disabled": { once: "is disabled", when: " since", again: "were disabled" },
  "delivery.dead_lettered": {
    once: "did not get a delivery",
    when: ". It was given up at",
    again: "were given up"
  }
}

const NEXT: Readonly<Record<AlertCause, string>> = {
  "endpoint.failing": "Posthorn keeps trying.",
  "endpoint.disabled":
    "Nothing is sent to it until somebody enables it. What is published meanwhile is missed, and can be sent again then.",
  "delivery.dead_lettered":
    "Posthorn does not try again by itself. Once the receiver works, it can be sent again from the console."
}

const subjectOf = ({ cause, digest, endpoint }: LetterFacts): string => {
  const name = endpoint === null ? "An endpoint" : nameOf(endpoint)
  if (digest === null) return `${name} ${HAPPENED[cause].once}`
  const what =
    cause === "delivery.dead_lettered"
      ? counted(digest.times, "more delivery", "more deliveries")
      : counted(digest.endpoints, "more endpoint")
  return `${what} ${HAPPENED[cause].again.replace(/^were/, digest.times === 1 ? "was" : "were")}`
}

const openingOf = (facts: LetterFacts, workspace: string): string => {
  const { cause, digest, endpoint, happenedAt } = facts
  if (digest === null) {
    const subject = called(endpoint)
    return `In ${workspace}, ${subject} ${HAPPENED[cause].once}${HAPPENED[cause].when} ${moment(happenedAt)}.`
  }
  const times = counted(digest.times, "time")
  const where = counted(digest.endpoints, "endpoint")
  return cause === "delivery.dead_lettered"
    ? `In ${workspace}, ${counted(digest.times, "more delivery", "more deliveries")} to ${where} ${digest.times === 1 ? "was" : "were"} given up in the hour after ${moment(happenedAt)}.`
    : `In ${workspace}, ${where} ${cause === "endpoint.failing" ? "failed" : "stopped"} ${times} more in the hour after ${moment(happenedAt)}.`
}

const linesOf = ({ digest, finding, undelivered }: LetterFacts): ReadonlyArray<Line> => [
  ...(finding === null
    ? []
    : [
        { label: "What we see", text: owned(finding.summary, 600) },
        ...(finding.since === null
          ? []
          : [
              {
                label: "Since",
                text:
                  moment(finding.since) +
                  (finding.inARow > 1 ? `, ${counted(finding.inARow, "failed attempt")} in a row` : "")
              }
            ])
      ]),
  ...(undelivered === null
    ? []
    : [
        {
          label: "Not delivered",
          text: `${counted(undelivered.waiting, "delivery waits", "deliveries wait")}, ${undelivered.stopped} given up, ${undelivered.missed} missed`
        }
      ]),
  ...(digest === null || digest.endpoints < 2
    ? []
    : digest.most.map(({ endpoint, times }) => ({
        label: counted(times, "time"),
        text: endpoint === null ? "a deleted endpoint" : called(endpoint)
      }))),
  ...(digest !== null && digest.endpoints > digest.most.length
    ? [{ label: "and", text: counted(digest.endpoints - digest.most.length, "more endpoint") }]
    : [])
]

export const letterOf = (facts: LetterFacts, { baseUrl, name }: AlertSettings): Letter => {
  const workspace = owned(facts.workspace.name, NAME_SHOWN)
  const place = `${baseUrl}/console/w/${facts.workspace.slug}/endpoints`
  return {
    subject: plain(`${subjectOf(facts)} · ${workspace}`.replaceAll(BREAK, ""), 240),
    opening: openingOf(facts, workspace),
    lines: linesOf(facts),
    closing:
      facts.cause === "endpoint.failing" && facts.disables
        ? `${NEXT[facts.cause]} If it goes on failing, the endpoint is disabled${facts.tellsDisabled ? ", and we write once more" : ""}.`
        : NEXT[facts.cause],
    link:
      facts.endpoint === null
        ? { text: "See the endpoints", url: place }
        : { text: "See what happened", url: `${place}/${facts.endpoint.id}` },
    footer: `${name} writes to you because this address is in the alerts of ${workspace}; its administrators can change that in the settings.`
  }
}

/** What it says, without its link and footer. */
const paragraphsOf = ({ closing, lines, opening }: Letter): ReadonlyArray<string> =>
  [opening, lines.map(({ label, text }) => `${label}: ${text}`).join("\n"), closing].filter(
    (part) => part !== ""
  )

export const textOf = (letter: Letter): string =>
  [...paragraphsOf(letter), `${letter.link.text}: ${letter.link.url}`, `-- \n${letter.footer}`].join("\n\n")

const ESCAPED: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;"
}

const escapeHtml = (text: string) => text.replace(/[&<>"']/g, (character) => ESCAPED[character]!)

const ACCENT = "#2456d6"

// Where white and black are equally easy to read.
const inkOn = (accent: string): string => (luminance(accent) > 0.179 ? "#111111" : "#ffffff")

/** Styles are inline for programs that drop the sheet; the sheet has the dark theme and small screens. */
export const htmlOf = (letter: Letter, { accent, name }: AlertSettings): string => {
  const { closing, footer, lines, link, opening, subject } = letter
  const color = accent ?? ACCENT
  const row = ({ label, text }: Line) =>
    `<tr><td class="dim" style="padding:6px 16px 6px 0;vertical-align:top;white-space:nowrap;color:#5b6472">${escapeHtml(label)}</td><td style="padding:6px 0;vertical-align:top;word-break:break-word">${escapeHtml(text)}</td></tr>`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>${escapeHtml(unlinked(subject))}</title>
<style>
:root { color-scheme: light dark; supported-color-schemes: light dark; }
@media (prefers-color-scheme: dark) {
  .page { background: #14171c !important; color: #e8eaee !important; }
  .sheet { background: #1d2128 !important; border-right-color: #323843 !important; border-bottom-color: #323843 !important; border-left-color: #323843 !important; }
  .dim { color: #a2abb9 !important; }
}
@media (max-width: 480px) {
  .sheet { padding: 20px !important; }
  td { display: block !important; padding: 0 0 2px !important; }
  td + td { padding-bottom: 12px !important; }
}
</style>
</head>
<body class="page" style="margin:0;padding:16px;background:#f4f5f7;color:#1a1d23;font:16px/1.5 system-ui,-apple-system,'Segoe UI',sans-serif">
<div class="sheet" style="max-width:560px;margin:0 auto;padding:28px 32px;background:#ffffff;border:1px solid #dfe2e8;border-top:4px solid ${color};border-radius:8px">
<p class="dim" style="margin:0 0 16px;color:#5b6472;font-size:14px">${escapeHtml(name)}</p>
<p style="margin:0 0 16px;word-break:break-word">${escapeHtml(opening)}</p>
${lines.length === 0 ? "" : `<table role="presentation" style="border-collapse:collapse;margin:0 0 16px;font-size:15px">${lines.map(row).join("")}</table>`}
<p style="margin:0 0 20px">${escapeHtml(closing)}</p>
<p style="margin:0 0 24px"><a href="${escapeHtml(link.url)}" style="display:inline-block;padding:10px 18px;border-radius:6px;background:${color};color:${inkOn(color)};text-decoration:none;font-weight:600">${escapeHtml(link.text)}</a></p>
<p class="dim" style="margin:0;color:#5b6472;font-size:13px;word-break:break-word">${escapeHtml(footer)}</p>
</div>
</body>
</html>
`
}

/** Slack reads nothing in `plain_text`; in `text` and `mrkdwn` these three begin a link or a mention. */
const escapeSlack = (text: string) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;")

export const slackOf = (letter: Letter): string =>
  JSON.stringify({
    text: escapeSlack(unlinked(letter.subject)),
    unfurl_links: false,
    unfurl_media: false,
    blocks: [
      {
        type: "section",
        text: {
          type: "plain_text",
          emoji: false,
          text: paragraphsOf(letter)
            .join("\n\n")
            .slice(0, 3_000)
            .replace(/\p{Cs}/u, "")
        }
      },
      { type: "section", text: { type: "mrkdwn", text: `<${letter.link.url}|${letter.link.text}>` } }
    ]
  })
