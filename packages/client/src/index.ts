/** The whole client in one import. Each part's promises are in its own file. */
export { items, type Page } from "./Pagination.ts"
export { make, type Options, type PosthornClient } from "./PosthornClient.ts"
