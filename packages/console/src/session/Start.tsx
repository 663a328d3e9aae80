/** `/console/`: redirects to the signed-in workspace, or to the sign-in. */
import { Navigate } from "@tanstack/react-router"
import { Failed, Loading } from "../ui/States.tsx"
import { useWelcome } from "./useWelcome.ts"

export const Start = () => {
  const { data, error, refetch } = useWelcome()
  if (error !== null && data === undefined) return <Failed error={error} retry={refetch} />
  if (data === undefined) return <Loading />
  const [first] = data.sessions
  return first === undefined ? (
    <Navigate to="/sign-in" replace />
  ) : (
    <Navigate to="/w/$slug" params={{ slug: first.workspace.slug }} replace />
  )
}
