/** This program's version, for the user agent, the OpenAPI document and the MCP handshake. */
export const VERSION = "0.1.0"
