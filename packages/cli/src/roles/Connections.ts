/** How many connections of the database each process may open. docs/operate.md and `posthorn doctor` tell them. */
import { CONNECTIONS as PREPARED } from "@posthorn/persistence/client/PreparedStatements"

/** The pool of `serve`. */
export const SERVE_CONNECTIONS = 20

/** The pool of `work`. */
export const WORK_POOL = 3

/** With its prepared statements, its locks and its notifications. */
export const WORK_CONNECTIONS = WORK_POOL + PREPARED + 2

/** Of one `serve` and one `work`, or of `run`, and one that cancels a statement. */
export const RUN_CONNECTIONS = SERVE_CONNECTIONS + WORK_CONNECTIONS + 1
