/** A request body whose payload stays exactly as typed. */

export const problemOfJson = (text: string): string | undefined => {
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    return `This is not JSON: ${error instanceof Error ? error.message : String(error)}`
  }
}

export const publishBody = (eventType: string, payload: string) =>
  `{"eventType":${JSON.stringify(eventType)},"payload":${payload}}`
