/** What the component and the console in its frame send to each other, always to and from an exact origin. */

/**
 * `host`: the page around the frame listens. The console answers to its origin from then on.
 * `link`: the code of a new link, with which the console signs in again.
 */
export type FromHost = { readonly posthorn: "host" } | { readonly posthorn: "link"; readonly code: string }

/**
 * `opened`: signed in; a new link need not load the frame anew.
 * `moved`: another page of the console is shown.
 * `height`: of the whole page, in pixels.
 * `expired`: the session has ended, or the link opened none.
 */
export type FromConsole =
  | { readonly posthorn: "opened" }
  | { readonly posthorn: "moved" }
  | { readonly posthorn: "height"; readonly height: number }
  | { readonly posthorn: "expired" }
