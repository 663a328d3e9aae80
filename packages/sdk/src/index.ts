export * from "./Call.ts"
export * from "./generated.ts"
export * from "./Posthorn.ts"
export * from "./Verify.ts"
