/** The command in empty states: it works once the token is filled in. */
export const publishCommand = (slug: string) =>
  `curl ${location.origin}/workspaces/${slug}/events \\
  -H "authorization: Bearer $POSTHORN_TOKEN" \\
  -H "content-type: application/json" \\
  -d '{"eventType":"invoice.paid","payload":{"id":7}}'`
