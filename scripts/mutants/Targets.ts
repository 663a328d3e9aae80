/** The sources to mutate, and the tests that should notice, quickest first. */
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
    tests: ["packages/domain/test/Permission.test.ts", "packages/domain/test/Identifiers.test.ts"]
  },
  { file: "packages/server/src/gate/Gate.ts", tests: ["packages/server/test/gate/Gate.test.ts"] },
  {
    file: "packages/server/src/console/SessionAuthentication.ts",
    tests: [
      "packages/server/test/console/ConsoleSignIn.test.ts",
      "packages/server/test/console/ConsoleBrowser.test.ts"
    ]
  },
  {
    file: "packages/capabilities/src/ConsoleSessions.ts",
    tests: [
      "packages/server/test/console/ConsoleBrowser.test.ts",
      "packages/server/test/console/ConsoleSignIn.test.ts"
    ]
  },
  {
    file: "packages/capabilities/src/TokenText.ts",
    tests: ["packages/capabilities/test/TokenText.test.ts"]
  },
  {
    file: "packages/capabilities/src/Identities.ts",
    tests: [
      "packages/capabilities/test/Identities.test.ts",
      "packages/capabilities/test/IdentitiesRemembered.test.ts"
    ]
  },
  {
    file: "packages/capabilities/src/ApiTokens.ts",
    tests: ["packages/server/test/api/ApiTokens.test.ts", "packages/server/test/api/TokenLineage.test.ts"]
  },
  {
    file: "packages/domain/src/AllowedTargets.ts",
    tests: ["packages/domain/test/AllowedTargets.test.ts", "packages/domain/test/WebhookUrl.test.ts"]
  },
  { file: "packages/signature/src/Sign.ts", tests: ["packages/signature/test/Signature.test.ts"] },
  { file: "packages/signature/src/Secret.ts", tests: ["packages/signature/test/Signature.test.ts"] },
  { file: "packages/signature/src/Verify.ts", tests: ["packages/signature/test/Signature.test.ts"] },
  {
    file: "packages/persistence/src/client/SecretBox.ts",
    tests: ["packages/persistence/test/client/SecretBox.test.ts"]
  },
  {
    file: "packages/egress/src/Names.ts",
    tests: ["packages/egress/test/DispatchConnecting.alone.test.ts", "packages/worker/test/Names.test.ts"]
  },
  { file: "packages/egress/src/BodyPrefix.ts", tests: ["packages/egress/test/BodyPrefix.test.ts"] },
  {
    file: "packages/egress/src/KeptHeaders.ts",
    tests: ["packages/egress/test/KeptHeaders.test.ts"]
  },
  {
    file: "packages/egress/src/FailureReasons.ts",
    tests: ["packages/egress/test/Failures.test.ts"]
  },
  {
    file: "packages/egress/src/InterimAnswers.ts",
    tests: ["packages/egress/test/InterimAnswers.test.ts"]
  }
]
