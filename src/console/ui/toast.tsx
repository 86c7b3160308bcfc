import { createStore } from "../store.ts";
import { Icon } from "./icon.tsx";

type Tone = "ok" | "bad" | "quiet";

interface Toast {
  id: number;
  text: string;
  tone: Tone;
}

const toasts = createStore<readonly Toast[]>([]);
let latest = 0;

/** Shows a toast and announces it. `quiet` only announces it. */
export function showToast(text: string, tone: Tone = "ok"): void {
  latest += 1;
  const toast = { id: latest, text, tone };
  toasts.set([...toasts.get().slice(-2), toast]);
  setTimeout(
    () => toasts.set(toasts.get().filter(({ id }) => id !== toast.id)),
    tone === "bad" ? 8_000 : 4_000,
  );
}

/** Renders the toasts; once per app. */
export function Toasts() {
  const shown = toasts.use();
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
