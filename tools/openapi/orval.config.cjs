/** One file of functions, named as the operations, over the fetch in smoke/orvalFetch.ts. */
module.exports = {
  posthorn: {
    input: "../../packages/api-contract/openapi.json",
    output: {
      target: "generated/orval.ts",
      client: "fetch",
      override: { mutator: { path: "smoke/orvalFetch.ts", name: "orvalFetch" } }
    }
  }
}
