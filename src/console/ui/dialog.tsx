import { useEffect, useId, useRef, type ReactNode } from "react";

/** A modal `<dialog>`. The primary action is the last of `actions`; Esc calls `onClose` as well. */
export function Dialog({
  open,
  title,
  onClose,
  actions,
  children,
}: {
  open: boolean;
  title: string;
  onClose: () => void;
  actions: ReactNode;
  children: ReactNode;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    const element = dialog.current;
    if (!element) return;
    if (open && !element.open) element.showModal();
    if (!open && element.open) element.close();
  }, [open]);
  return (
    <dialog ref={dialog} className="dialog" aria-labelledby={heading} onClose={onClose}>
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
