/** All of the client in one import. Each part says in its own file what it promises. */
export { items, type Page } from "./Pagination.ts"
export { make, type Options, type PosthornClient } from "./PosthornClient.ts"
