/** The console's start: first the theme, then the session, then the page in the address. */
import { QueryClientProvider } from "@tanstack/react-query"
import { RouterProvider } from "@tanstack/react-router"
import { lazy, StrictMode, Suspense } from "react"
import { createRoot } from "react-dom/client"
import "./app.css"
import { queryClient } from "./api/queries.ts"
import { router } from "./router.tsx"
import { isEmbedded } from "./session/embedding.ts"
import { applyTheme } from "./session/theme.ts"

applyTheme()

const Embedded = lazy(() => import("./session/Embedded.tsx"))

const beginAnew = () => router.navigate({ to: "/", replace: true })

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      {isEmbedded ? (
        <Suspense>
          <Embedded beginAnew={beginAnew}>
            <RouterProvider router={router} />
          </Embedded>
        </Suspense>
      ) : (
        <RouterProvider router={router} />
      )}
    </QueryClientProvider>
  </StrictMode>
)
