import { useState } from "react";
import { createFormMemory, useFormMemory } from "../form-memory.ts";
import { ActionDialog, focusInvalidField, TextareaField } from "../ui/index.ts";

interface ReasonFieldProps {
  hint: string;
  value: string;
  error: string | undefined;
  onChange: (text: string) => void;
}

/** The reason for an action; it is stored, and the customer may see it. */
export function ReasonField({ hint, value, error, onChange }: ReasonFieldProps) {
  return (
    <TextareaField
      label="Reason"
      hint={hint}
      error={error}
      required
      maxLength={500}
      rows={3}
      value={value}
      onChange={({ target }) => onChange(target.value)}
    />
  );
}

const memory = createFormMemory<string>();

export function ReasonDialog({
  about,
  hint,
  reset,
  onReason,
  children,
  ...dialog
}: Omit<Parameters<typeof ActionDialog>[0], "onAction"> & {
  /** Identifier of the record: the reason is kept for it until the dialog is closed. */
  about: string;
  hint: string;
  /** Clears the error of the attempt before. */
  reset: () => void;
  /** Called with the trimmed reason. */
  onReason: (reason: string) => void;
}) {
  const [reason, setReason, forget] = useFormMemory(memory, `${about} ${dialog.action}`, () => "");
  const [submitted, setSubmitted] = useState(false);
  const isEmpty = reason.trim() === "";
  return (
    <ActionDialog
      {...dialog}
      onClose={() => {
        forget();
        dialog.onClose();
      }}
      onAction={(event) => {
        setSubmitted(true);
        focusInvalidField(event.currentTarget);
        if (!isEmpty) onReason(reason.trim());
      }}
    >
      {children}
      <ReasonField
        hint={hint}
        value={reason}
        error={submitted && isEmpty ? "Enter a reason" : undefined}
        onChange={(text) => {
          setReason(text);
          reset();
        }}
      />
    </ActionDialog>
  );
}
