/** JSON from files and standard input. */

/** Windows editors and PowerShell write a byte order mark before it. */
export const withoutMark = (text: string) => text.replace(/^\uFEFF/, "")
