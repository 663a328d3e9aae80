/** The URL of a test's database, for tests that open connections of their own. It stands apart from `TestPg`: attacks run without vitest. */
import { Context, type Redacted } from "effect"

export class TestDatabaseUrl extends Context.Tag("@posthorn/testkit/TestDatabaseUrl")<
  TestDatabaseUrl,
  Redacted.Redacted
>() {}
