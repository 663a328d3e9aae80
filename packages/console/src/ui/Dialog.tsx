/** Confirmations of irreversible actions, and short forms. */
import { type ReactNode, useEffect, useState } from "react"
import { Dialog as AriaDialog, Heading, Modal, ModalOverlay } from "react-aria-components"
import { isEmbedded } from "../session/embedding.ts"
import { Button } from "./Button.tsx"
import { Refusal } from "./States.tsx"

/**
 * Where a dialog opens. In a frame of another page, which is as high as the console's page, `10vh` may be out of sight: the dialog
 * opens as soon as the browser has said which part of the frame is seen.
 */
const usePlace = (isOpen: boolean) => {
  const [top, setTop] = useState<string>()
  useEffect(() => {
    if (!isEmbedded || !isOpen) return
    const seen = new IntersectionObserver(([entry]) => {
      const { height, top } = entry!.intersectionRect
      setTop(`${top + height / 10}px`)
    })
    seen.observe(document.documentElement)
    return () => {
      seen.disconnect()
      setTop(undefined)
    }
  }, [isOpen])
  return isEmbedded ? top : "10vh"
}

export const Dialog = ({
  title,
  isOpen,
  close,
  children,
  isDismissable = true,
  wide = false
}: {
  title: string
  isOpen: boolean
  close: () => void
  children: ReactNode
  isDismissable?: boolean
  wide?: boolean
}) => {
  const top = usePlace(isOpen)
  return (
    <ModalOverlay
      isOpen={isOpen && top !== undefined}
      onOpenChange={(open) => (open ? undefined : close())}
      isDismissable={isDismissable}
      isKeyboardDismissDisabled={!isDismissable}
      className="fixed inset-0 z-40 grid place-items-start justify-items-center overflow-y-auto bg-black/45 p-4"
      style={{ paddingTop: top }}
    >
      <Modal
        className={`w-full ${wide ? "max-w-2xl" : "max-w-md"} rounded-xl bg-raised shadow-(--shadow-pop)`}
      >
        <AriaDialog className="grid gap-4 p-6 outline-none">
          <Heading slot="title" className="text-lg font-semibold">
            {title}
          </Heading>
          {children}
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  )
}

export const Confirm = ({
  title,
  children,
  action,
  isOpen,
  close,
  confirm,
  isPending,
  error,
  danger = false
}: {
  title: string
  children: ReactNode
  action: string
  isOpen: boolean
  close: () => void
  confirm: () => void
  isPending: boolean
  error?: unknown
  danger?: boolean
}) => (
  <Dialog title={title} isOpen={isOpen} close={close}>
    <div className="text-sm text-soft">{children}</div>
    <Refusal error={error} />
    <div className="flex justify-end gap-2">
      <Button onPress={close}>Cancel</Button>
      <Button look={danger ? "danger" : "primary"} onPress={confirm} isDisabled={isPending}>
        {action}
      </Button>
    </div>
  </Dialog>
)
