import { useSyncExternalStore } from "react";
import { Icon } from "./icon.tsx";

type Tone = "ok" | "bad" | "quiet";

interface Toast {
  id: number;
  text: string;
  tone: Tone;
}

let toasts: readonly Toast[] = [];
let latest = 0;
const listeners = new Set<() => void>();

function change(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

/** Tells what has happened in a line that goes away by itself, and by voice to those who do not see it. `quiet`: by voice alone. */
export function showToast(text: string, tone: Tone = "ok"): void {
  latest += 1;
  const toast = { id: latest, text, tone };
  change([...toasts.slice(-2), toast]);
  setTimeout(() => change(toasts.filter(({ id }) => id !== toast.id)), tone === "bad" ? 8_000 : 4_000);
}

/** Where it is told; once, in the frame of all pages. */
export function Toasts() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => toasts,
  );
  return (
    <div className="toasts" role="status" aria-live="polite">
      {shown.map(({ id, text, tone }) => (
        <p key={id} className={tone === "quiet" ? "hidden" : `toast toast-${tone}`}>
          <Icon name={tone === "bad" ? "warn" : "check"} />
          {text}
        </p>
      ))}
    </div>
  );
}
