/** The command of the empty states: it works as pasted once the token is put in. */
export const publishCommand = (slug: string) =>
  `curl ${location.origin}/workspaces/${slug}/events \\
  -H "authorization: Bearer $POSTHORN_TOKEN" \\
  -H "content-type: application/json" \\
  -d '{"eventType":"invoice.paid","payload":{"id":7}}'`
