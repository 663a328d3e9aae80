/** The name of a workspace in paths. Source: spec §2.7; the table `workspaces` checks the same. */
export const SLUG_PATTERN = /^[a-z0-9](?:[a-z0-9-]{0,46}[a-z0-9])?$/

/** No workspace has any other slug. */
export const isSlug = (text: string): boolean => SLUG_PATTERN.test(text)
