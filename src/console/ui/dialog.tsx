import { useEffect, useId, useRef, type MouseEvent, type ReactNode } from "react";
import { Button } from "./button.tsx";
import { ErrorNote } from "./note.tsx";

interface DialogProps {
  open: boolean;
  title: string;
  onClose: () => void;
  actions: ReactNode;
  children: ReactNode;
}

/** A modal `<dialog>`. The primary action is the last of `actions`; Esc calls `onClose` as well. */
export function Dialog({ open, title, onClose, actions, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    const element = dialog.current;
    if (!element) return;
    if (open && !element.open) element.showModal();
    if (!open && element.open) element.close();
  }, [open]);
  return (
    <dialog
      ref={dialog}
      className="dialog"
      aria-labelledby={heading}
      // Closing goes through `open` alone: a shortcut pressed at once after Esc opens it again.
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      // The event comes late, perhaps when the dialog is open again.
      onClose={({ currentTarget }) => !currentTarget.open && onClose()}
    >
      <h2 id={heading}>{title}</h2>
      {open && (
        <>
          <div className="dialog-body">{children}</div>
          <div className="actions actions-end">{actions}</div>
        </>
      )}
    </dialog>
  );
}

/** A dialog with Cancel and one action. An `error` of the action is shown below the content. */
export function ActionDialog({
  open = true,
  action,
  tone = "primary",
  busy = false,
  disabled,
  error,
  onAction,
  children,
  ...dialog
}: {
  open?: boolean;
  title: string;
  onClose: () => void;
  action: string;
  tone?: "primary" | "danger";
  busy?: boolean;
  disabled?: boolean;
  error?: unknown;
  onAction: (event: MouseEvent) => void;
  children?: ReactNode;
}) {
  const actions = (
    <>
      <Button tone="quiet" onClick={dialog.onClose}>
        Cancel
      </Button>
      <Button tone={tone} busy={busy} disabled={disabled} onClick={onAction}>
        {action}
      </Button>
    </>
  );
  return (
    <Dialog {...dialog} open={open} actions={actions}>
      {children}
      <ErrorNote error={error} />
    </Dialog>
  );
}
