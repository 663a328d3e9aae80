/**
 * The architecture as rules: `npm run deps` fails on the first import that points the wrong way.
 *
 * pnpm is the first wall (a package imports only what its package.json lists), `exports` the second ("./internal/*" is
 * closed). These rules hold what a manifest cannot say.
 */
const forbid = (name, comment, from, to) => ({ name, comment, severity: "error", from: { path: from }, to })

module.exports = {
  forbidden: [
    {
      name: "no-cycles",
      comment: "a cycle has no first file to read",
      severity: "error",
      from: {},
      to: { circular: true }
    },
    forbid(
      "signature-stands-alone",
      "receivers install it: no dependency but node's crypto",
      "^packages/signature/src",
      {
        dependencyTypesNot: ["core", "local"]
      }
    ),
    forbid("sdk-stands-alone", "everybody installs it: no dependency at all", "^packages/sdk/src", {
      dependencyTypesNot: ["local"]
    }),
    forbid("embed-stands-alone", "every visitor of a platform's page loads it", "^packages/embed/src", {
      dependencyTypesNot: ["local"]
    }),
    forbid(
      "domain-is-pure",
      "domain computes; it never reaches out, so that a browser can share it",
      "^packages/domain/src",
      {
        dependencyTypes: ["core"]
      }
    ),
    forbid("domain-knows-nobody", "domain is below every other room", "^packages/domain/src", {
      path: "^packages/(?!domain)"
    }),
    forbid(
      "telemetry-knows-nobody",
      "everybody may be metered, so it is below them all",
      "^packages/telemetry/src",
      {
        path: "^packages/(?!telemetry)"
      }
    ),
    forbid(
      "embedded-postgres-stands-alone",
      "tests and the cli start it; it knows nothing of what is stored",
      "^packages/embedded-postgres/src",
      {
        path: "^packages/(?!embedded-postgres)"
      }
    ),
    forbid(
      "contract-below-transports",
      "the contract says what may be asked, not how it is done",
      "^packages/api-contract/src",
      {
        path: "^packages/(?!api-contract|domain)"
      }
    ),
    forbid(
      "sql-in-one-room",
      "SQL lives in persistence; others get a client to open transactions with, never a driver. The testkit makes databases",
      "^packages/(?!persistence|testkit)[^/]+/src",
      {
        path: "@effect/sql-pg|node_modules/pg/"
      }
    ),
    forbid("client-below-statements", "the client knows no table", "^packages/persistence/src/client", {
      path: "^packages/persistence/src/(?!client)"
    }),
    forbid(
      "repositories-below-operations",
      "what requests ask for does not depend on what operators run",
      "^packages/persistence/src/repositories",
      {
        path: "^packages/persistence/src/operations"
      }
    ),
    forbid(
      "transports-keep-apart",
      "the transports share the gate and the operations, not each other's parts",
      "^packages/server/src/(api|console|guides)/",
      { path: "^packages/server/src/mcp" }
    ),
    forbid("calls-below-the-gate", "what all calls share knows no transport", "^packages/server/src/calls/", {
      path: "^packages/server/src/(?!calls/|ServerConfig)"
    }),
    forbid("gate-below-http", "the gate knows no transport", "^packages/server/src/gate/", {
      path: "^packages/server/src/(?!gate/|calls/|ServerConfig)"
    }),
    forbid(
      "http-below-its-users",
      "HTTP knows nothing of what it serves; Server.ts puts it together",
      "^packages/server/src/http/",
      { path: "^packages/server/src/(?!http/|gate/|calls/|ServerConfig)" }
    ),
    forbid(
      "policy-first",
      "a transport reaches the database only through a capability",
      "^packages/server/src",
      {
        path: "^packages/persistence"
      }
    ),
    forbid(
      "worker-has-no-principal",
      "machinery comes through the worker: no principal, so no capability",
      "^packages/worker/src",
      {
        path: "^packages/(capabilities|server|api-contract)"
      }
    ),
    forbid(
      "loops-speak-to-the-dispatcher",
      "the engine's loops know the dispatcher and never each other",
      "^packages/worker/src/(polling/(Poller|Listener)|loops/[A-Za-z]+)[.]ts",
      {
        path: "^packages/worker/src/(Engine|polling/(Poller|Listener)|loops/[A-Za-z]+)[.]ts"
      }
    ),
    forbid(
      "dispatcher-has-no-clock",
      "plain data: moments and timers are given to it (biome.json refuses the globals)",
      "^packages/worker/src/(dispatcher/|polling/Rhythm)",
      { path: "^packages/telemetry|^packages/worker/src/Schedules|^(node:)?(timers|perf_hooks)" }
    ),
    forbid("egress-stands-alone", "it knows nothing of deliveries", "^packages/egress/src", {
      path: "^packages/(?!egress|domain|telemetry)"
    }),
    forbid(
      "server-and-worker-apart",
      "they run on different machines; the cli puts them together",
      "^packages/server/src",
      {
        path: "^packages/worker"
      }
    ),
    forbid(
      "sdk-stays-at-the-edge",
      "the MCP SDK's next major is a one-file change",
      "^packages/(?!server/src/mcp/McpServer|[^/]+/test)",
      {
        path: "@modelcontextprotocol"
      }
    ),
    forbid(
      "testkit-below-the-top",
      "what tests stand on does not depend on how it is put together",
      "^packages/testkit/src",
      {
        path: "^packages/(cli|server|worker|console)"
      }
    ),
    forbid(
      "console-parts-below-pages",
      "what pages share does not depend on a page; only the router knows them all",
      "^packages/console/src/(api|ui|session|shell)",
      { path: "^packages/console/src/(pages|router)" }
    ),
    forbid("testkit-is-for-tests", "test code never ships", "^packages/(?!testkit)[^/]+/src", {
      path: "^packages/testkit"
    })
  ],
  options: {
    // TypeScript 7 has no API to parse with. @swc/core must be installed, or .ts files are not read; its parser reads no JSX.
    parser: "acorn",
    doNotFollow: { path: "node_modules" },
    exclude: { path: "(^|/)build/" },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["import", "types", "default", "node"],
      extensions: [".ts", ".tsx", ".js", ".mjs"]
    }
  }
}
