import { Link } from "@tanstack/react-router"
import { buttonClass } from "../ui/Button.tsx"
import { Empty } from "../ui/States.tsx"

export const NotFound = () => (
  <Empty icon="search" title="There is no such page">
    <p className="text-soft">The address may be cut short, or what it showed is gone.</p>
    <Link to="/" className={buttonClass()}>
      Go to the start
    </Link>
  </Empty>
)
