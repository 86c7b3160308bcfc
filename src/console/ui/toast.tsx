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

/** Shows a toast and announces it. `quiet` only announces it. */
export function showToast(text: string, tone: Tone = "ok"): void {
  latest += 1;
  const toast = { id: latest, text, tone };
  change([...toasts.slice(-2), toast]);
  setTimeout(() => change(toasts.filter(({ id }) => id !== toast.id)), tone === "bad" ? 8_000 : 4_000);
}

/** Renders the toasts; once per app. */
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
