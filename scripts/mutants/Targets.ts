/** The sources whose rules are broken on purpose, and the test files that should notice, the quickest first. */
export interface Target {
  readonly file: string
  readonly tests: ReadonlyArray<string>
}

export const targets: ReadonlyArray<Target> = [
  { file: "packages/domain/src/Verdict.ts", tests: ["packages/domain/test/Verdict.test.ts"] },
  {
    file: "packages/domain/src/WebhookUrl.ts",
    tests: ["packages/domain/test/WebhookUrl.test.ts", "packages/domain/test/AllowedTargets.test.ts"]
  },
  { file: "packages/domain/src/IpAddress.ts", tests: ["packages/domain/test/IpAddress.test.ts"] },
  {
    file: "packages/domain/src/Permission.ts",
    tests: ["packages/domain/test/Permission.test.ts", "packages/domain/test/Names.test.ts"]
  },
  { file: "packages/server/src/Gate.ts", tests: ["packages/server/test/Gate.test.ts"] },
  {
    file: "packages/server/src/console/SessionDoor.ts",
    tests: ["packages/server/test/ConsoleDoor.test.ts", "packages/server/test/ConsoleBrowser.test.ts"]
  },
  {
    file: "packages/capabilities/src/ConsoleSessions.ts",
    tests: ["packages/server/test/ConsoleBrowser.test.ts", "packages/server/test/ConsoleDoor.test.ts"]
  },
  {
    file: "packages/capabilities/src/TokenText.ts",
    tests: ["packages/capabilities/test/TokenText.test.ts"]
  }
]
