/**
 * `<posthorn-console src="…">`: the console of a workspace in a frame. `src` is the `url` of a console link with `embedIn`.
 *
 * - It is as high as the page in it, `TALLEST` at most. `min-height` and `max-height` of the element bound it further; beyond
 *   them the frame scrolls.
 * - The event `linkexpired` asks for another link: at once without a `src`, then whenever the link opened no session or its
 *   session ended. It comes again until a session is open, ever later: 10 seconds, 20, … five minutes.
 * - A new `src` for the console that is shown already is handed over by a message, so nothing that was typed is lost. Any other
 *   `src` loads a new frame.
 *
 * Messages are taken from the frame's window at the origin of `src`, and sent there only.
 */
import type { FromConsole, FromHost } from "./Messages.ts"

const TALLEST = 20_000
const FIRST_WAIT_MS = 10_000
const LONGEST_WAIT_MS = 300_000

// The console needs scripts, forms and its own origin. It opens no windows, downloads nothing, and does not leave the page.
const SANDBOX = "allow-scripts allow-same-origin allow-forms"

const STYLE = `:host{display:block;min-height:24rem;max-height:${TALLEST}px}:host([hidden]){display:none}iframe{display:block;width:100%;height:0;min-height:inherit;max-height:inherit;border:0}`

// On a server, where pages are rendered, the import does nothing.
const Base = globalThis.HTMLElement ?? (class {} as typeof HTMLElement)

export class PosthornConsole extends Base {
  static readonly observedAttributes = ["src"]

  #frame: HTMLIFrameElement | undefined
  /** The link without its code. */
  #page = ""
  #origin = ""
  /** A session has been opened in this frame. */
  #isOpen = false
  /** When a link was last asked for, and how long not to ask again. */
  #askedAt = 0
  #waitMs = 0
  #timer: ReturnType<typeof setTimeout> | undefined

  get src(): string {
    return this.getAttribute("src") ?? ""
  }
  set src(link: string) {
    this.setAttribute("src", link)
  }

  connectedCallback(): void {
    if (this.shadowRoot === null) {
      const style = new CSSStyleSheet()
      style.replaceSync(STYLE)
      this.attachShadow({ mode: "open" }).adoptedStyleSheets = [style]
    }
    addEventListener("message", this.#hear)
    this.#show()
  }

  disconnectedCallback(): void {
    removeEventListener("message", this.#hear)
    clearTimeout(this.#timer)
    this.#frame?.remove()
    this.#page = ""
  }

  attributeChangedCallback(): void {
    if (this.isConnected && this.shadowRoot !== null) this.#show()
  }

  #show() {
    if (!/^https?:/.test(this.src) || !URL.canParse(this.src)) return this.#ask()
    clearTimeout(this.#timer)
    const { hash, href, origin, pathname, search } = new URL(this.src)
    const page = origin + pathname + search
    if (this.#isOpen && page === this.#page)
      return this.#say({ posthorn: "link", code: new URLSearchParams(hash.slice(1)).get("code") ?? "" })
    this.#page = page
    this.#origin = origin
    this.#isOpen = false
    const frame = document.createElement("iframe")
    frame.title = this.title || "Webhooks"
    frame.loading = this.getAttribute("loading") === "lazy" ? "lazy" : "eager"
    frame.referrerPolicy = "no-referrer"
    frame.setAttribute("sandbox", SANDBOX)
    frame.allow = "clipboard-write"
    frame.onload = () => this.#say({ posthorn: "host" })
    frame.src = href
    this.#frame = frame
    this.shadowRoot!.replaceChildren(frame)
  }

  #say(message: FromHost) {
    this.#frame?.contentWindow?.postMessage(message, this.#origin)
  }

  readonly #hear = ({ data, origin, source }: MessageEvent<FromConsole | null>): void => {
    if (source === null || source !== this.#frame?.contentWindow || origin !== this.#origin) return
    if (data?.posthorn === "height")
      this.#frame.style.height = `${Math.min(Math.ceil(Number(data.height)) || 0, TALLEST)}px`
    else if (data?.posthorn === "opened") {
      this.#isOpen = true
      clearTimeout(this.#timer)
    } else if (data?.posthorn === "expired") this.#ask()
    // Its beginning may have left the screen while the last page was read.
    else if (data?.posthorn === "moved" && this.getBoundingClientRect().top < 0) this.scrollIntoView()
  }

  /** Keeps the waits also where each new link opens a session that ends at once. */
  #ask() {
    const since = performance.now() - this.#askedAt
    if (since > LONGEST_WAIT_MS) this.#waitMs = 0
    clearTimeout(this.#timer)
    this.#timer = setTimeout(
      () => {
        this.#askedAt = performance.now()
        this.#waitMs = Math.min(Math.max(FIRST_WAIT_MS, this.#waitMs * 2), LONGEST_WAIT_MS)
        this.#ask()
        this.dispatchEvent(new CustomEvent("linkexpired", { bubbles: true, composed: true }))
      },
      Math.max(0, this.#waitMs - since)
    )
  }
}

if (globalThis.customElements?.get("posthorn-console") === undefined)
  globalThis.customElements?.define("posthorn-console", PosthornConsole)

declare global {
  interface HTMLElementTagNameMap {
    "posthorn-console": PosthornConsole
  }
}
