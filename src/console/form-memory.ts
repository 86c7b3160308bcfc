import { useState } from "react";
import { hasSessionExpired } from "./rpc.ts";
import { onSessionEnd } from "./session-end.ts";
import { useSignedIn } from "./session.tsx";

/** What was entered into forms of one kind and not sent, by account, name and initial content. */
type FormMemory<Form> = Map<string, Form>;

/** Keeps forms while other pages are shown, and beyond a session that ends; a sign-out clears them. */
export function createFormMemory<Form>(): FormMemory<Form> {
  const memory: FormMemory<Form> = new Map();
  onSessionEnd(() => {
    if (!hasSessionExpired()) memory.clear();
  });
  return memory;
}

/** Returns what a form holds, how to change it, and how to forget it: when it was sent or cancelled. */
export function useFormMemory<Form>(
  memory: FormMemory<Form>,
  name: string,
  initial: () => Form,
): [form: Form, change: (form: Form) => void, forget: () => void] {
  // A record that was changed meanwhile starts a new form.
  const { accountId } = useSignedIn().session;
  const [key] = useState(() => JSON.stringify([accountId, name, initial()], writeBigint));
  const [form, setForm] = useState(() => memory.get(key) ?? initial());
  const change = (next: Form) => {
    memory.set(key, next);
    setForm(next);
  };
  return [form, change, () => void memory.delete(key)];
}

const writeBigint = (_name: string, value: unknown) => (typeof value === "bigint" ? String(value) : value);
